"""The words that announce a secret, by language."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """What a word announces."""

    PASSWORD = "a password"  # noqa: S105
    #: A random value: a token, a key, a secret.
    TOKEN = "a secret value"  # noqa: S105
    #: A few digits.
    PIN = "a code"
    #: The name of a user and a password.
    LOGIN = "credentials"


#: Words and phrases in lower case, separated by commas.
_WORDS = {
    Kind.PASSWORD: {
        "english": "password, passwd, passphrase, pass phrase, passcode, pass, pwd, pw, dbpass, psk, wifi key, "
        "wi-fi key, wpa key, recovery code, backup code",
        "german": "passwort, passwört, kennwort, kennwört, losungswort, zugangscode, wlan-schlüssel, wlan-key",
        "french": "mot de passe, mots de passe, mot-de-passe, mdp, code secret",
        "spanish": "contraseña, contrasena, clave, palabra clave",
        "portuguese": "senha, palavra-passe, palavra passe",
        "italian": "parola d'ordine, parola d’ordine, parola chiave, parola segreta",
        "dutch": "wachtwoord, toegangscode",
        "polish": "hasło, haslo, hasła, hasłem, haśle",
        "czech": "heslo, hesla, heslem, heslu",
        "hungarian": "jelszó, jelszo, jelszav, jelszava",
        "romanian": "parola, parolă, parolei",
        "swedish": "lösenord, losenord",
        "danish": "adgangskode, kodeord",
        "norwegian": "passord",
        "finnish": "salasana, salasanan, tunnussana",
        "catalan": "contrasenya, mot de pas",
        "turkish": "şifre, sifre, parola",
        "vietnamese": "mật khẩu, mat khau, mật mã",
        "indonesian": "kata sandi, kata kunci, sandi",
        "russian": "парол, пасворд",
        "ukrainian": "парол, гасло",
        "arabic": "كلمة المرور, كلمة مرور, كلمة السر, كلمة سر, الرقم السري, باسورد",
        "hindi": "पासवर्ड, कूटशब्द, पासफ़्रेज़",
        "greek": "κωδικ, συνθηματικ",
        "hebrew": "סיסמ, סיסמא",
        "japanese": "パスワード, パスフレーズ, パスコード",
        "chinese": "密码, 密碼, 口令, 通行码",
        "korean": "비밀번호, 비번, 패스워드, 암호",
    },
    Kind.TOKEN: {
        "english": "token, secret, api key, api-key, api_key, apikey, access key, access-key, access_key, accesskey, "
        "secret key, private key, private-key, private_key, privatekey, account key, account_key, accountkey, "
        "auth key, auth_key, authkey, signing key, signing_key, encryption key, encryption_key, license key, "
        "licence key, license_key, deploy key, deploy_key, service key, service_key, shared key, master key, "
        "master_key, recovery key, webhook key, app key, app_key, client key, "
        "signature key, unseal key, subscription key, subscription-key, storage key, storage_key, "
        "session key, session_key, bearer",
        "german": "schlüssel, geheimnis, zugriffstoken",
        "french": "clé api, clé d'api, clé d’api, clef api, clé secrète, clé d'accès, clé privée, jeton",
        "spanish": "llave, secreto",
        "portuguese": "chave, segredo",
        "italian": "chiave, segreto, gettone",
        "dutch": "sleutel, geheim",
        "polish": "klucz, sekret",
        "czech": "klíč, tajemství",
        "hungarian": "kulcs, titok",
        "romanian": "cheie, cheia, jeton",
        "swedish": "nyckel, hemlighet",
        "danish": "nøgle, hemmelighed",
        "norwegian": "nøkkel, hemmelighet",
        "finnish": "avain, salaisuus",
        "catalan": "clau, secret",
        "turkish": "anahtar, jeton, gizli",
        "vietnamese": "khóa, khoá, mã truy cập, bí mật",
        "indonesian": "kunci, rahasia",
        "russian": "токен, ключ, секрет",
        "ukrainian": "токен, ключ, секрет",
        "arabic": "رمز, مفتاح, توكن",
        "hindi": "टोकन, कुंजी, कुंजि",
        "greek": "κλειδί, μυστικό, διακριτικό",
        "hebrew": "אסימון, מפתח, טוקן",
        "japanese": "トークン, キー, シークレット, 秘密鍵, 秘密",
        "chinese": "令牌, 密钥, 密鑰, 金鑰, 秘钥, 私钥, 秘密",
        "korean": "토큰, 키, 시크릿, 비밀키",
    },
    Kind.PIN: {
        "english": "pin, otp, one-time code, one time code, verification code, cvv, pin code, passcode, totp, "
        "alarm code, door code, access code, entry code, safe code, gate code, security code",
        "german": "geheimzahl, tan, türcode, torcode, tresorcode, tresor-code, alarmcode, zugangscode",
        "french": "code pin, code de vérification, digicode, code d'entrée, code du portail, code de la porte, "
        "code de l'alarme",
        "spanish": "código de verificación, código de la puerta, código de la alarma",
        "portuguese": "código de verificação, código da porta, código do alarme",
        "italian": "codice di verifica, codice della porta, codice del cancello",
        "dutch": "pincode",
        "swedish": "pinkod",
        "danish": "pinkode",
        "russian": "пин-код, пин, код подтверждения",
        "arabic": "رمز التحقق",
        "japanese": "暗証番号, 認証コード",
        "chinese": "验证码, 驗證碼",
        "korean": "인증번호",
    },
    Kind.LOGIN: {
        "english": "login, log in, log into, logon, logs in, logged in, credentials, credential, creds, cred, sign in, "
        "signing in, get in with, ssh into, ssh on, ssh to, unlock, superuser, security question, "
        "wifi, wi-fi, wlan, auth",
        "german": "zugangsdaten, zugang, anmeldedaten, anmelden, einloggen, anmeldung, melde dich, meld dich, "
        "sicherheitsfrage",
        "french": "identifiants, identifiant, connexion, accès, connecte-toi, connectez-vous, connecter, se connecte",
        "spanish": "credenciales, iniciar sesión, inicia sesión, acceso, accede, acceder",
        "portuguese": "credenciais, acesso, acessa, acesse, fazer login",
        "italian": "credenziali, accesso, accedi, accedere, accedete",
        "dutch": "inloggegevens, inloggen, log in met, aanmelden",
        "polish": "dane logowania, zaloguj",
        "czech": "přihlašovací údaje, přihlášení",
        "hungarian": "bejelentkez",
        "romanian": "autentificare",
        "swedish": "inloggning, logga in",
        "danish": "logge ind",
        "norwegian": "logge inn, pålogging",
        "finnish": "kirjaudu, tunnukset",
        "catalan": "credencials",
        "turkish": "giriş bilgileri",
        "vietnamese": "đăng nhập",
        "indonesian": "masuk dengan, kredensial",
        "russian": "логин, учётные данные, учетные данные, вход",
        "ukrainian": "логін, облікові дані",
        "arabic": "بيانات الدخول, تسجيل الدخول",
        "hindi": "लॉगिन",
        "greek": "διαπιστευτήρια, σύνδεση",
        "hebrew": "פרטי התחברות",
        "japanese": "ログイン, 認証情報",
        "chinese": "登录, 登錄, 登入, 账号, 帳號",
        "korean": "로그인, 계정",
    },
}
#: Up to this length, a word in Latin letters is not found inside another one.
_SHORT = 4
_LONGEST_ENDING = 6
#: Passwort123 announces nothing, and password2= does.
_NOT_A_VALUE = r"(?![0-9]{1,9}+(?!\s{0,3}[:=]))"
#: Words of the same letters that announce nothing.
_OTHERS = re.compile(r"token(?:i[sz]|ring)|secretar|secretly|passwordless")
#: Scripts that are written without spaces between words, or attach particles to them.
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_UNSPACED = re.compile(f"[{UNSPACED}]")


class Announced(NamedTuple):
    """A word in a text that announces a secret."""

    start: int
    #: The end of the word with its ending.
    end: int
    kind: Kind


def _pattern(phrase: str, kind: Kind) -> re.Pattern[str]:
    word = re.escape(phrase)
    if _UNSPACED.search(phrase[-1]):
        return re.compile(word)
    if phrase.isascii() and len(phrase) <= _SHORT:
        return re.compile(rf"(?<![^\W_]){word}(?![^\W_])")
    if kind is Kind.PASSWORD or not phrase.isascii():
        return re.compile(rf"{word}[^\W\d_]{{0,{_LONGEST_ENDING}}}+{_NOT_A_VALUE}")
    # "token" is found in "apitoken", not in "tokenizer".
    return re.compile(rf"{word}(?:e?s)?(?![^\W\d_]){_NOT_A_VALUE}")


#: Parts of many phrases: a text without the part has none of them.
_PARTS = (
    *("pass", "token", "secret", "key", "log", "cred", "clave", "code", "parol", "contrasen", "hasl", "hesl", "jelsz"),
    *("kunci", "sandi", "salas", "kenn", "zugang", "anmeld", "geheim", "segre", "pin", "wi", "jeton", "chei"),
)
_SCRIPTS = {
    "latin": re.compile("[\u00c0-\u024f\u1e00-\u1eff\u2019]"),
    "greek and cyrillic": re.compile("[\u0370-\u052f]"),
    "others": re.compile(f"[\u0590-\u06ff\u0900-\u097f{UNSPACED}]"),
}


@functools.cache
def _phrases() -> dict[str, dict[str, list[tuple[str, Kind]]]]:
    """Return the phrases with their kinds, by script and by a part of them."""
    kinds = {
        phrase: kind for kind, languages in reversed(_WORDS.items()) for text in languages.values()
        for phrase in text.split(", ")
    }  # fmt: skip
    found: dict[str, dict[str, list[tuple[str, Kind]]]] = {"ascii": {}, **{script: {} for script in _SCRIPTS}}
    for phrase, kind in kinds.items():
        script = next((name for name, letters in reversed(_SCRIPTS.items()) if letters.search(phrase)), "ascii")
        part = next((each for each in _PARTS if each in phrase), phrase)
        found[script].setdefault(part, []).append((phrase, kind))
    return found


_compiled = functools.cache(_pattern)


def announcing_words(lowered: str) -> list[Announced]:
    """Return the words that announce a secret in a text in lower case, in their order; they do not overlap."""
    phrases = _phrases()
    scripts = [phrases["ascii"]]
    if not lowered.isascii():
        scripts += (phrases[name] for name, letters in _SCRIPTS.items() if letters.search(lowered))
    found: list[Announced] = []
    for parts in scripts:
        for part, listed in parts.items():
            if part not in lowered:
                continue
            for phrase, kind in listed:
                found += _places(lowered, phrase, kind)
    found.sort(key=lambda each: (each.start, -each.end, each.kind.value))
    return list(_without_overlaps(found, lowered))


def _places(lowered: str, phrase: str, kind: Kind) -> Iterator[Announced]:
    # A text is searched much faster for a fixed text than for a pattern.
    start = lowered.find(phrase)
    while start >= 0:
        word = _compiled(phrase, kind).match(lowered, start)
        if word is not None:
            yield Announced(*word.span(), kind)
        start = lowered.find(phrase, start + len(phrase))


def _without_overlaps(found: list[Announced], lowered: str) -> Iterator[Announced]:
    end = -1
    for each in found:
        if each.start >= end and not _OTHERS.match(lowered, each.start):
            yield each
            end = each.end
