"""The language of a text, by its script and its function words, and how words of that language are stemmed.

A script with one dominant language decides by itself: words in Cyrillic letters are stemmed as Russian. A text in
Latin letters is English unless it has at least two function words of another language, and more of them than of
English; one of them may be a letter that English does not use.
"""

from __future__ import annotations

import functools
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice

import Stemmer

__all__ = ["ENGLISH", "FUNCTION_WORDS", "SCRIPT_FUNCTION_WORDS", "latin_language", "script_language", "stemmer"]

ENGLISH = "english"

#: Languages that are written in the Latin script, by the names of their stemmers: frequent function words, most of
#: which are not words of the other languages, the languages with more speakers first: of two that fit equally well,
#: the first is taken. Words are case-folded, so that the German sharp s is "ss".
FUNCTION_WORDS = {
    language: frozenset(text.split())
    for language, text in {
        ENGLISH: """
            a about above after again against all am an and any are aren as at be because been before being below
            between both but by can cannot could couldn d did didn do does doesn doing don down during each few for
            from further had hadn has hasn have haven having he her here hers herself him himself his how i if in
            into is isn it its itself just ll m me more most my myself no nor not now o of off on once only or other
            our ours ourselves out over own re s same she should shouldn so some such t than that the their theirs
            them themselves then there these they this those through to too under until up ve very was wasn we were
            weren what when where which while who whom why will with won would wouldn y you your yours yourself
            yourselves""",
        "spanish": """
            el la los las un una unos unas de del al a en con por para y e o pero que qué quién quien quiénes cuál
            cual cuáles cuándo cuando dónde donde cómo como cuánto cuántos cuántas no es son fue era ser está se más
            también este esta su sus mi lo le les ha han sobre entre desde""",
        "french": """
            le la les un une des de du au aux et en est que qui quoi dans pour par sur pas ne ce cette ces il elle
            ils elles je tu nous vous se sa son ses leur leurs mon ma mes avec ou où quand comment pourquoi quel
            quelle quels quelles sont était été mais comme qu""",
        "portuguese": """
            o a os as um uma uns umas de do da dos das em no na nos nas por pelo pela para com e ou mas que quem
            qual quais quando onde como porque não é são foi era ser se mais também este esta seu sua ao à quanto
            quantos eu você ele ela""",
        "german": """
            der die das den dem des ein eine einen einem einer eines und oder aber nicht ist sind war waren wird
            werden wurde wurden hat haben hatte ich du er sie es wir ihr mein meine sein seine mit von vom zu zum zur
            auf für im am an bei nach aus über unter durch als auch wie was wer wo wann warum wieviel wem wen
            welche welcher welches welchen welchem
            wessen in ihm ihn ihre ihrer seiner seinem uns hiess dass sich noch nur wenn man kein keine heisst""",
        "italian": """
            il lo la i gli le un uno una di del della dei delle degli da dal dalla in nel nella con su per tra e ed
            o ma che chi cosa quale quali quando dove come perché non è sono era ha hanno si più anche questo questa
            suo sua mio mia quanto quanti al alla ai alle""",
        "turkish": """
            ve bir bu da de için ile ne kim nerede zaman nasıl neden hangi kaç mı mi mu mü değil var yok olan
            olarak daha çok en gibi kadar sonra ama veya o ben sen biz onun tarafından ki ise""",
        "vietnamese": """
            là của và các có được trong cho không một những với này đã người khi để ở từ như ai gì nào đâu bao
            nhiêu tại sao thế bị về ra vào đến theo trên cũng nhưng tôi""",
        "indonesian": """
            yang dan di ke dari untuk dengan pada adalah ini itu tidak dalam oleh akan sebagai juga atau telah apa
            siapa kapan mana mengapa bagaimana berapa saya kamu mereka kami kita ada karena para""",
        "polish": """
            i w we na z ze do się nie to że jest są był była było co kto jak kiedy gdzie dlaczego który która
            które ile jaki jaka jakie od po przez dla o ale czy za przy jego ich oraz jako tym tego""",
        "dutch": """
            de het een en van ik te dat die in is niet zijn op aan met als voor er maar om hem dan zou of wat mijn
            dit zo door over ze uit ook tot je naar heeft hoe waar wanneer wie waarom welke werd wordt bij hebben""",
        "romanian": """
            și si în în la de pe cu din un o unei unui ale al a ai care ce cine când unde cum cât câți câte nu este
            sunt era fost au fi se mai pentru că sau dar prin după lui său sa acest această""",
        "czech": """
            a i v ve na se je jsou byl byla bylo by že který která které kdo co jak kdy kde proč z ze do pro s k o
            od po při jako ale nebo jeho jejich tento tato jsem mám není kolik jaký jaká jaké""",
        "hungarian": """
            a az és hogy nem is egy ez van volt meg de ha mint csak már ki mi mit hol mikor miért hogyan melyik
            milyen mennyi hány lesz vagy után által ami aki amely akkor én te ő""",
        "swedish": """
            och i att det en ett den till är som på de med han av för inte var jag sig men har om vi hade vad vem
            hur när varför vilken vilket vilka från ut blev kan ska också eller efter där""",
        "danish": """
            og i at det en et den til er som på de med han af for ikke der var mig sig men har om vi havde hvad hvem
            hvor hvornår hvorfor hvordan hvilken hvilke fra ud blev jeg du kan skal også eller""",
        "norwegian": """
            og i jeg det at en et den til er som på de med han av ikke der så var meg seg men har om vi hadde hva
            hvem hvor når hvorfor hvordan hvilken hvilke fra ut ble kan skal også eller etter""",
        "finnish": """
            ja on ei se että oli joka mutta ovat hän kun niin myös tai sen mikä mitä missä milloin kuka miksi
            kuinka miten minä sinä me he olla ole ollut jos kuin sekä ne tämä minun mitkä""",
        "catalan": """
            el la els les un una uns unes de del dels al als a en amb per i o que qui quin quina quins com quan on
            és era són ser ha han va van no més també aquest aquesta seu seva es s'ha què molt""",
    }.items()
}
#: Letters that English does not use count as one function word of the languages that use them.
_LETTERS = {
    language: frozenset(letters)
    for language, letters in {
        "catalan": "àçèéíïòóúü",
        "czech": "áčďéěíňóřšťúůýž",
        "danish": "æøå",
        "dutch": "ëïé",
        "finnish": "äö",
        "french": "àâçèéêëîïôùûœ",
        "german": "äöü",
        "hungarian": "áéíóöőúüű",
        "italian": "àèéìòù",
        "norwegian": "æøå",
        "polish": "ąćęłńóśźż",
        "portuguese": "áâãàçéêíóôõú",
        "romanian": "ăâîșțşţ",
        "spanish": "áéíñóúü",
        "swedish": "åäö",
        "turkish": "çğıöşü",
        "vietnamese": "ăâđêôơưáàảãạếềểễệốồổỗộớờởỡợứừửữự",
    }.items()
}
#: Function words of the main languages of other scripts.
SCRIPT_FUNCTION_WORDS = frozenset(
    """
    и в во не на я с со он она оно они мы вы ты как что это этот эта эти этого этой этом а то все всё так его её ее
    но да за бы по только мне было был была были есть вот от меня ещё о об из ему для ни при из-за же ли или если
    когда где куда кто кого кому чем чего какой какая какое какие каком какого какую каких сколько почему зачем чей
    который которая которое которые которых у к ко до над под без через их им ими нас нам вам вас тебе тебя
    себя свой своей можешь можете может можно нужно очень

    і й та на у в з із що це як не за до від про для але або чи де коли хто який яка яке які чому скільки був була
    було були є він вона вони його її їх

    في من على إلى عن مع ما ماذا من هو هي هم أن إن كان كانت التي الذي الذين هذا هذه ذلك تلك كم كيف متى أين لماذا أي
    أية هل لا لم لن قد و أو ثم بين عند منذ حتى كل بعد قبل ب ل ك ف لك لي له لها لكم أنت أنا نحن يمكن يمكنك

    ο η το οι τα του της των τον την τους τις και σε στο στη στην στον στα στους στις από με για που πού πως πώς ποιος
    ποια ποιο ποιοι ποιες πότε τι γιατί πόσο πόσα πόσοι πόσες είναι ήταν να θα δεν μη ένα ένας μια μία ως κατά ή αλλά

    का के की को में से पर ने है हैं था थे थी और या एक यह वह ये वे कि जो क्या कौन कब कहाँ कहां क्यों कैसे कितना कितने कितनी
    किस किसने किसे किसकी किसके कौनसा लिए साथ भी ही तो नहीं इस उस इन उन अपने अपनी अपना द्वारा गया गई हुए हुआ

    של את על לא זה זו הוא היא הם אני אתה אנחנו עם גם או כי אם מה מי איפה מתי למה איך כמה אשר היה היו יש אין כל אל
    """.split()  # noqa: SIM905
)
#: Scripts that imply a language for stemming.
_SCRIPTS = (
    ("russian", re.compile("[\u0400-\u052f]")),
    ("arabic", re.compile("[\u0600-\u06ff\u0750-\u077f]")),
    ("greek", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("hindi", re.compile("[\u0900-\u097f]")),
    ("armenian", re.compile("[\u0530-\u058f]")),
    ("tamil", re.compile("[\u0b80-\u0bff]")),
)
#: How many distinct words of a text are examined, and how many function words another language than English needs.
_MAX_WORDS = 300
_MIN_HITS = 2

_LANGUAGES_OF: dict[str, tuple[str, ...]] = {
    word: tuple(language for language, listed in FUNCTION_WORDS.items() if word in listed)
    for word in frozenset().union(*FUNCTION_WORDS.values())
}

#: Function words that English does not have.
_FOREIGN_WORDS = _LANGUAGES_OF.keys() - FUNCTION_WORDS[ENGLISH]


def latin_language(words: Iterable[str]) -> str:
    """Return the language of a text in Latin letters; English unless its case-folded words say otherwise."""
    distinct = set(islice(dict.fromkeys(words), _MAX_WORDS))
    letters = "".join(distinct)
    if letters.isascii() and distinct.isdisjoint(_FOREIGN_WORDS):
        return ENGLISH
    hits = Counter(language for word in distinct for language in _LANGUAGES_OF.get(word, ()))
    if not letters.isascii():
        hits.update(language for language, own in _LETTERS.items() if not own.isdisjoint(letters))
    english = hits.pop(ENGLISH, 0)
    if not hits:
        return ENGLISH
    best = max((language for language in FUNCTION_WORDS if language in hits), key=lambda language: hits[language])
    return best if hits[best] >= _MIN_HITS and hits[best] > english else ENGLISH


def script_language(word: str) -> str | None:
    """Return the language that stems words of this script; None for other scripts."""
    return next((language for language, letters in _SCRIPTS if letters.search(word)), None)


@functools.cache
def stemmer(language: str) -> Callable[[str], str]:
    """Return the stemming function of a language; the identity if there is none."""
    if language not in Stemmer.algorithms():
        return str
    # A stemmer is not thread-safe. One for each thread, and not a lock, which a fork could leave locked.
    stemmers = threading.local()

    def stem(word: str) -> str:
        try:
            stem_word = stemmers.stem_word
        except AttributeError:
            # Without its cache: callers have their own.
            stem_word = stemmers.stem_word = Stemmer.Stemmer(language, 0).stemWord
        return str(stem_word(word))

    return stem
