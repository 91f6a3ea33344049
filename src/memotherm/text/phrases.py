"""Stock phrases: small talk, filler, and statements of users about themselves.

A prompt of small talk alone ("thanks", "continue", "shorter") asks for no memory. Its words are searched like all
others; only the confidence of a recall ignores them.
"""

from __future__ import annotations

import functools
import re

from memotherm.text.words import words

__all__ = ["conversational_words", "is_filler", "kind_about_user"]

#: One text for each language, because words are reduced to their stems by language.
_TEXTS = {
    "English": """
        ok okay k kk yes yeah yep yup ya no nope nah sure fine right correct true wrong false exactly
        indeed agreed agree absolutely definitely certainly thanks thank thx ty cheers please pls sorry
        apologies oops whoops pardon welcome np hello hi hey hiya howdy greetings morning afternoon
        evening night bye goodbye ciao later tomorrow weekend happy good great nice cool awesome perfect
        excellent amazing wonderful fantastic brilliant lovely super neat wow well bad better best worse
        funny fun interesting impressive beautiful lol haha hehe lmao rofl hmm hm uh um ah oh huh omg
        brb afk btw lgtm imo fyi idk wtf gg continue proceed resume carry keep going go next previous
        back forward ahead stop wait pause hold cancel abort quit exit end finish finished finally done
        ready start begin restart again repeat retry redo undo revert another other others else same
        similar different differently instead neither either both none one ones two three first second
        third last do does make made work works worked try look looks see seen show check take give help
        mean means matter understand understood got explain elaborate clarify describe summarize
        summarise summary translate rephrase reword rewrite shorten shorter longer short simpler simple
        briefly brief detail details detailed explanation example examples answer answers answered
        question questions reply response message prompt sentence step steps option options choice point
        part bit way decide choose pick prefer suggest recommend think guess believe remember recall
        forget mind bother worry moment minute soon now late early fast quick quickly slow slowly wrap
        meet joke chat talk lot appreciate appreciated noted alright gotcha roger enough specific
        specifically clear clearer move bored tired sense sound sounds never what why who whom whose how
        when where which that this these those it its i me my you your we they he she is are am was were
        be did can could would should will not the a an and or so to for of on in up out off over about
        with all any some just very too
    """,
    "German": """
        danke dankeschön dank bitte gerne ja nein doch ok okay gut genau richtig falsch stimmt klar
        alles super toll prima perfekt schön weiter weitermachen mach machen so nochmal noch einmal
        stopp halt warte moment fertig hallo hi guten morgen abend nacht tschüss servus moin sorry
        entschuldigung verstanden verstehe und jetzt nächster nächste schritt das der es ist mir dir du
        ich wie geht was wer warum wieso erklär erkläre kürzer länger fass zusammen zeig vielen sehr
        gemacht los gehts auf wiedersehen bis später
        heute lustig anders sagen vorne anfang
    """,
    "French": """
        merci beaucoup oui non ok d'accord bien bon parfait super génial continue continuez encore
        suivant suivante stop attends arrête bonjour bonsoir salut au revoir s'il te plaît vous plait
        pardon désolé compris exactement c'est ça va comment vas tu je le la les et une un de bonne nuit
        journée explique résume court
    """,
    "Spanish": """
        gracias muchas sí si no ok bien bueno perfecto genial claro continúa sigue siguiente adelante
        otra vez espera hola buenos buenas días tardes noches adiós hasta luego por favor perdón lo
        siento entendido exacto cómo como estás está qué que tal de nada explica resume más corto
        hoy gracioso jaja principio manera corto día decirlo vale hecho
    """,
    "Italian": """
        grazie mille sì no ok va bene bravo perfetto ottimo certo continua avanti ancora prossimo stop
        aspetta ciao buongiorno buonasera arrivederci per favore prego scusa capito esatto come stai che
        cosa
    """,
    "Portuguese": """
        obrigado obrigada sim não ok certo bem bom ótimo perfeito continua continue segue próximo de
        novo pare espera olá oi dia boa tarde noite tchau até logo por favor desculpa entendi exato como
        vai tudo
    """,
    "Dutch": """
        dank je bedankt dankjewel alsjeblieft ja nee ok oké goed prima perfect leuk ga door verder
        volgende nog een keer stop wacht hallo hoi dag goedemorgen doei sorry begrepen precies hoe gaat
        het
    """,
    "Polish": """
        dziękuję dzięki proszę tak nie ok dobrze super świetnie dalej kontynuuj jeszcze raz stop czekaj
        cześć hej dzień dobry pa przepraszam rozumiem
    """,
    "Turkish": """
        teşekkürler teşekkür ederim sağol lütfen evet hayır tamam iyi güzel harika devam et tekrar dur
        bekle merhaba selam günaydın hoşça kal pardon anladım
    """,
    "Russian": """
        спасибо большое пожалуйста да нет ок окей хорошо ладно отлично супер класс понятно ясно верно
        точно продолжай продолжайте дальше далее ещё еще раз стоп подожди стой привет здравствуйте
        добрый доброе день утро вечер пока извини извините как дела что это ну и
        сегодня сказать скажи короче смешно ха другому иначе начала дня хорошего пойдёт работа
    """,
    "Ukrainian": """
        дякую будь ласка так ні добре гаразд чудово зрозуміло продовжуй далі ще раз стоп почекай привіт
        бувай вибач
    """,
    "Arabic": """
        شكرا شكراً جزيلا نعم لا حسنا حسناً تمام جيد ممتاز رائع استمر تابع أكمل التالي مرة أخرى توقف
        انتظر مرحبا أهلا السلام عليكم صباح الخير مساء وداعا من فضلك آسف فهمت كيف حالك
        اليوم باختصار بطريقة مضحك جدا البداية يوما سعيدا هاها عمل مناسب
    """,
    "Hindi": """
        धन्यवाद शुक्रिया हाँ हां नहीं ठीक है अच्छा बहुत जारी रखें आगे फिर से रुको नमस्ते कृपया माफ़ समझ
        गया
    """,
    "Chinese": """
        好的 好 谢谢 谢谢你 多谢 感谢 继续 请继续 是的 对的 对 不是 不 没有 可以 行 明白
        明白了 知道了 懂了 你好 您好 早上好 晚上好 晚安 再见 请 对不起 抱歉 没问题 没关系 不错
        很好 太好了 下一步 再来 再来一次 停 等等 等一下 嗯 哈哈 好吧 收到
        今天 怎么样 短一点 方式 从头 再来一遍 好笑 真 愉快 这样 换一种 说得
    """,
    "Japanese": """
        ありがとう ありがとうございます どうも はい いいえ うん 了解 了解です わかりました わかった
        オーケー 続けて 続けてください 次 お願いします もう一度 やめて 待って こんにちは こんばんは
        おはよう おやすみ さようなら すみません ごめん いいね 素晴らしい なるほど そうです
    """,
    "Korean": """
        감사합니다 고마워 고마워요 네 예 아니요 아니 좋아 좋아요 알겠습니다 알겠어요 계속 계속해
        계속해줘 다음 다시 멈춰 잠깐 안녕 안녕하세요 잘자 미안 죄송합니다 맞아요 그래
    """,
}


@functools.cache
def conversational_words() -> frozenset[str]:
    """Return the stemmed words of small talk."""
    return frozenset(word for text in _TEXTS.values() for word in words(text))


_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_LONGEST_CHARS = 80
_FILLER = frozenset(
    """again ah all alright and awesome back bye certainly continue cool do done evening fine go got goodbye good great
    ha haha hello hey hi hm hmm i'm it job just k keep kk let's lgtm lol looks makes me morning much nice no nope now
    ok okay on perfect please proceed right sense so sounds sure thank thanks that that's then there this thx to today
    ty uh um understood very welcome well work yea yeah yep yes you you're""".split()  # noqa: SIM905
)


def is_filler(text: str) -> bool:
    """Return whether a text has nothing but words such as "ok" and "thanks".

    Numbers and words of other languages are not filler.
    """
    stripped = text.strip()
    if len(stripped) > _LONGEST_CHARS:
        return False
    return all(word in _FILLER for word in _WORD.findall(stripped.casefold().replace("\u2019", "'")))


#: A longer text is a task or a report, even if it also says something about the user.
_MAX_CHARS = 400
_START = r"(?:^|[.!?;\n]\s*|\b(?:and|but|that|note|remember|hi|hello|hey)[,:]?\s+)"
_PREFERENCE = re.compile(
    _START + r"(?:"
    r"i(?:\s+(?:really|always|usually|generally|would|do|don't|do not|never|strongly|still))*\s+"
    r"(?:prefer|like|love|hate|dislike|enjoy|avoid|want you to|favou?r)\b"
    r"|i(?:'d| would) (?:prefer|rather)\b"
    r"|my (?:favou?rite|preferred|preference)\b"
    r"|i (?:always|never|usually) \w+"
    r"|(?:from now on|in (?:the )?future)\b"
    r"|(?:please )?(?:always|never) (?:answer|reply|write|use|call|ask|explain|show|give|address|respond|speak)\b"
    r"|call me\b"
    r")",
    re.IGNORECASE,
)
_FACT = re.compile(
    _START + r"(?:"
    r"my (?:name|birthday|wife|husband|partner|daughter|son|dog|cat|time ?zone|job|role|native language|pronouns)\b"
    r"|i (?:live|work|was born|grew up|speak|studied) (?:in|at|as|for|on|with|a|an|the|[A-Z])"
    r"|(?:i'm|i am) (?:an?|allergic|vegan|vegetarian|based|from|left-handed|colou?r-?blind|new to)\b"
    r")",
    re.IGNORECASE,
)


def kind_about_user(text: str) -> str | None:
    """Return `preference` or `fact` for a short statement of a user about themselves, and None for any other text."""
    if len(text) > _MAX_CHARS or text.rstrip().endswith("?"):
        return None
    if _PREFERENCE.search(text):
        return "preference"
    return "fact" if _FACT.search(text) else None
