"""The condition that ends a statement, in its words: "until feature/x is merged", "solange release/2.1 offen ist"."""

from __future__ import annotations

import re

from memotherm.text.conditions import RELEASE, UNNAMED, Condition, parse_condition
from memotherm.text.phrases import sentences

__all__ = ["condition_in"]

#: A longer text is a report.
_MAX_CHARS = 400

_TICKS = r"[`\"'“”„«»]?"
#: Other names of the same.
_ALIASES = {
    "node.js": "node",
    "nodejs": "node",
    "golang": "go",
    "rustc": "rust",
    "python3": "python",
    "cpython": "python",
}
#: Words that begin a clause with the end of a statement: those after which it holds until then, and as long as.
_UNTIL = (
    r"until(?! further notice)|till|'til|unless and until|bis(?! auf weiteres)"
    r"|jusqu['’]à(?: ce que?['’]?)?|jusqu['’]au|hasta(?: que)?|fino a(?:l|lla)?"
    r"|até(?: que)?|totdat|tot|tills|aż"
)
_WHILE = (
    r"as long as|so long as|while|solange|tant que|tant qu['’]|mientras|finché|enquanto|zolang|så länge|dopóki|пока"
)
_BEFORE = r"before|bevor|ehe|avant que|antes de que|prima che|antes que|voordat"
_MARKER = re.compile(
    rf"(?<![\w-])(?:(?P<until>{_UNTIL})|(?P<while>{_WHILE})|(?P<before>{_BEFORE}))(?![\w-])", re.IGNORECASE
)
#: Words after a clause: まで, 之前.
_MARKER_AFTER = re.compile(r"まで|之前|以前|까지")
#: Who waits is not told what holds; what was is over; a range is no end.
_WAITS = re.compile(
    r"(?<!\w)(?:wait|poll|block|loop|sleep|spin|hang|run|listen|tr(?:y|ie)|retr(?:y|ie)|dur|wart|gewart|attend|esper|aspett"
    r"|wacht)\w*,?\s*$"
    r"|(?<!\w)(?:(?:wart\w* nicht|took a while|gedauert|dauert\w*|up),?|(?:von|from|de|van) [\w ]{0,20}\d[\w.]*)\s*$",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"(?<!\w)(?:was|were|had|did|war|waren|hatte|hatten|était|étaient|avait|estaba|estuvo|fue|fu|foi|estava|werd|был\w?)(?!\w)",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"(?<!\w)(?:not|no longer|never|nicht|kein\w*|pas|non|no|não|niet|не)(?!\w)|n['’]t(?!\w)|没|ない", re.IGNORECASE
)
_MERGED = re.compile(
    r"(?<!\w)(?:merged|lands?|landed|gemerge?[td]|gelandet|fusionn\w+|mergée?|fusionad\w+|mergead\w+|mergiat\w"
    r"|mesclad\w+|samengevoegd|влит\w*|смерж\w+|слит\w*|zmergowan\w+|scalon\w+)(?!\w)|合并|マージ|병합",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"(?<!\w)(?:deleted|removed|gone|closed|dropped|gelöscht|entfernt|weg|verschwunden|geschlossen|supprim\w+|eliminad\w+"
    r"|borrad\w+|rimoss\w+|eliminat\w+|removid\w+|verwijderd|удал\w+|usunięt\w+)(?!\w)|削除|删除|삭제",
    re.IGNORECASE,
)
_EXISTS = re.compile(
    r"(?<!\w)(?:exists?|there|there's|open|around|alive|have|added|created|existiert|gibt|offen|vorhanden|angelegt|haben"
    r"|existe|exista|ouverte?|abierta?|esiste|aberta?|bestaat|существует|есть|открыт\w*|istnieje)(?!\w)|存在|開いて|있",
    re.IGNORECASE,
)
_CONTAINS = re.compile(
    r"(?<!\w)(?:contains?|mentions?|has|says|includes?|enthält|steht|contient|contiene|contém|bevat|содержит)(?!\w)",
    re.IGNORECASE,
)
_RELEASED = re.compile(
    r"(?<!\w)(?:release[ds]?|tag|tagged|ships?|shipped|out|published|veröffentlich\w+|draußen|raus|taggen|getaggt"
    r"|erschein\w+|erschienen|publi\w+|sort\w+|lanza\w+|rilasci\w+|lança\w+|uitgebracht|выпу\w+)(?!\w)",
    re.IGNORECASE,
)
_MOVES = re.compile(
    r"(?<!\w)(?:upgrad\w+|updat\w+|mov\w+|migrat\w+|switch\w*|bump\w*|go|get|umsteig\w+|umstieg|aktualisier\w+|wechsel\w*"
    r"|passe\w*|pass\w+|pase\w+|migr\w+|actuali\w+|zitten|overstap\w+|перей\w+|обнов\w+)(?!\w)|上げ|移行|升级|迁移|更新",
    re.IGNORECASE,
)
_DROPS = re.compile(r"(?<!\w)(?:drop|stop supporting|fallen ?lassen|abandon\w+|aufgeben)(?!\w)", re.IGNORECASE)
#: What becomes of a version elsewhere does not show in a repository.
_ELSEWHERE = re.compile(
    r"(?<!\w)(?:eol|end of life|stable|available|wheels?|works?|supports|supported|verfügbar|stabil|unterstützt|estable"
    r"|disponible?|lts|pass|passes|tests?|tested|getestet|testé|probado|nobody|no one|anyone|anybody|niemand)(?!\w)",
    re.IGNORECASE,
)
#: Who has a version is the project, and what becomes of it is that it is used.
_HAVE = re.compile(
    r"(?<!\w)(?:(?:we|wir|nous|wij|we['’]ve|(?:the|das|our|unser) (?:\w+ )?(?:project|projekt|repo|lock ?file|minimum))"
    r"(?: already| all| finally)?(?: have| haben| has| got| is| avons| run| target)?|requires?|needs?|reach\w*|bring\w*"
    r"|adopt\w*|install\w*|pin\w*|utilis\w+|us(?:emos|iamo|amos)|на|мы|till|til|naar)\s*$",
    re.IGNORECASE,
)
_BECOMES = re.compile(
    r"\s+(?:is|ist|wird|becomes|gets|est|es|está|è) (?!(?:in|here|there|required|used|installed|pinned|the|our|da|drin"
    r"|live|adopted|reached|merged|active|aktiv|eingeführt|installiert|erreicht|nötig)(?!\w))\w",
    re.IGNORECASE,
)
_INTO_OTHER = re.compile(
    rf"(?<!\w)(?:into|in|nach|dans|en) {_TICKS}(?!(?:the |den )?(?:main|master|trunk|default)(?!\w))\w", re.IGNORECASE
)
_STAYS = re.compile(
    r"(?<!\w)(?:support\w*|on|use|unterstütz\w+|auf|nutzen|verwenden|supporte\w*|soport\w+|op)(?!\w)", re.IGNORECASE
)
_OWN = re.compile(
    r"(?<!\w)(?:our|the package|the project|unsere?|die|notre|nuestra|la nostra|nossa|onze) version\w*(?!\w)",
    re.IGNORECASE,
)

_AFTER_BRANCH = r"(?:is|ist|has|gets?|exists?|wird|wurde|est|esté?|está|è|lands?)"
#: A branch by the word, or by the usual beginnings of branch names.
_BRANCH = re.compile(
    rf"(?<![\w/.-])(?:(?:branch|branche|rama|zweig|ветк\w+) {_TICKS}(?!{_AFTER_BRANCH}(?!\w))"
    rf"(?P<named>[\w][\w./+-]*\w){_TICKS}"
    rf"|(?:the |der |den |dem |la |de )?{_TICKS}(?P<before>\w+[/_-][\w./-]*\w){_TICKS} (?:branch|zweig)(?!\w)"
    r"|(?P<usual>(?:feature|feat|fix|hotfix|bugfix|release|chore|docs?|refactor|support|test|perf|ci|build|task|story)"
    r"/[\w./+-]*\w))",
    re.IGNORECASE,
)
_RELEASE_BRANCH = re.compile(r"(?<!\w)(?:release[ -]branch|branche? de release|rama de release)(?!\w)", re.IGNORECASE)
_PATH = re.compile(
    rf"(?<![\w/.-]){_TICKS}(?P<path>(?:[\w@.-]+/)*(?:[\w@-]+(?:\.[\w-]+)*\.[a-z][a-z0-9]{{0,7}}|\.[a-z][\w.-]*\w)){_TICKS}(?![\w/]|\s+v?\d)",
    re.IGNORECASE,
)
_COMMIT = re.compile(
    r"(?<![\w/.-])(?=[a-f]*\d)(?=\d*[a-f])(?P<commit>[0-9a-f]{7,40})(?![\w/.-])(?P<rest>.*?)"
    rf"(?<!\w)(?:on|in|into|auf|nach|dans|sur|en|op|в) {_TICKS}(?P<into>[\w][\w./+-]*\w){_TICKS}"
)
_QUOTED = re.compile(r"[`\"“„«](?P<text>[^`\"“”„«»]{1,200})[`\"”“»]")
#: Four numbers are an address.
_NUMBER = r"v?(?P<version>\d+(?:\.\d+){0,2})(?![\w-]|\.\d)"
#: Words before a number that name no package.
_NO_NAMES = frozenset(
    """
    a about after al april are around as at até au auf august be been below bis by chapter da das day days de
    december del dem den der des dezember di die do dos du el em en februar february for friday from game get gets
    haben has hasta have hour hours in is issue ist it item januar january juli july june juni jusqu la le least
    level line mai march may milestone minute minutes monday month märz nous november number o october of oktober
    on on's op or our page para part phase point port pr q quarter release room round row saturday september
    sprint step sunday tag tags task than the thursday ticket to tuesday um unsere until v van version versions
    vom von we wednesday week wir woche zu zum zur à
    """.split()  # noqa: SIM905 - a list would take forty lines
)
_NAMED_VERSION = re.compile(
    rf"(?<![\w/.-])(?P<name>[a-z@][\w.@/+-]*)(?:\s+version)?\s*(?:[ ]|>=|≥)\s*{_NUMBER}", re.IGNORECASE
)
_NAME_MOVES = re.compile(
    rf"(?<![\w/.-])(?P<name>[a-z@][\w.@/+-]*)(?:\s+(?:is|are|has been|gets?|ist|wird|est|está|è|is'?t|upgraded|updated"
    rf"|bumped|raised|at least)){{0,3}}\s+(?:to|at|on|auf|à|a|reaches|hits)\s+(?:version )?{_NUMBER}",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"(?<![\w/.-]){_NUMBER}", re.IGNORECASE)


def condition_in(text: str) -> Condition | None:
    """Return the condition until which a text says that something holds; None if it names none.

    `?` and `release*` stand for names that it does not say. Of several sentences, one does not speak for all.
    """
    text = text.strip()
    if len(text) > _MAX_CHARS or text.endswith(("?", "？")) or len(sentences(text)) > 1:
        return None
    if after := _MARKER_AFTER.search(text):
        return _sound(_read(text[: after.start()], "until"))
    for marker in _MARKER.finditer(text):
        before, clause = text[: marker.start()], text[marker.end() :]
        if _WAITS.search(before) or _PAST.search(_first_part(clause)):
            return None
        if found := _read(_first_part(clause), str(marker.lastgroup)):
            return _sound(found)
    return None


def _sound(condition: Condition | None) -> Condition | None:
    """Return a condition, unless it names what lies outside of a project."""
    known = condition is None or condition.name == RELEASE
    return condition if known else parse_condition(str(condition))


def _first_part(clause: str) -> str:
    """Return a clause up to the comma that ends it."""
    return re.split(r"[,;，、](?=\s|$)", clause.lstrip(" ,"), maxsplit=1)[0].rstrip(" .!。")


def _read(clause: str, word: str) -> Condition | None:
    """Return the condition of a clause after a word such as until or while."""
    negated = _NOT.search(clause) is not None
    holds_while = word == "while" and not negated
    if found := _COMMIT.search(clause):
        return None if holds_while else Condition("commit", found["commit"], "is in", found["into"])
    branch, path = _BRANCH.search(clause), _PATH.search(clause)
    if branch or _RELEASE_BRANCH.search(clause):
        name = RELEASE if branch is None else branch["named"] or branch["before"] or branch["usual"]
        state = _state(
            clause, holds_while=holds_while, merges=True, negated=negated and word != "while" and word != "before"
        )
        return Condition("branch", name, state) if state and (word != "before" or state == "is merged") else None
    if path and word != "before":
        quoted = [each["text"] for each in _QUOTED.finditer(clause) if each["text"] != path["path"]]
        if quoted and _CONTAINS.search(clause):
            lacks = holds_while or (negated and word != "while")
            return Condition("file", path["path"], "lacks" if lacks else "contains", quoted[0])
        state = _state(clause, holds_while=holds_while, merges=False)
        return Condition("file", path["path"], state) if state else None
    return _version(clause, word, holds_while=holds_while)


def _state(clause: str, *, holds_while: bool, merges: bool, negated: bool = False) -> str:
    """Return what becomes of a branch or a file; empty if a clause does not say it."""
    if merges and _MERGED.search(clause):
        return "" if holds_while or negated or _INTO_OTHER.search(clause) else "is merged"
    if _GONE.search(clause):
        return "exists" if holds_while else "is gone"
    if _EXISTS.search(clause):
        return "is gone" if holds_while else "exists"
    return ""


def _version(clause: str, word: str, *, holds_while: bool) -> Condition | None:
    """Return the condition of a clause about a version: of a package, of the project, or of a tag."""
    found = next((each for each in _NAMED_VERSION.finditer(clause) if each["name"].lower() not in _NO_NAMES), None)
    found = found or next(
        (each for each in _NAME_MOVES.finditer(clause) if each["name"].lower() not in _NO_NAMES | _VERBS), None
    )
    released = _RELEASED.search(clause) is not None
    if found and not _OWN.search(clause):
        name, version = found["name"].lower(), found["version"]
        name = _ALIASES.get(name, name)
        if _DROPS.search(clause) if not holds_while else _STAYS.search(clause):
            return Condition("version", name, "at least", _next(version))
        before, after = clause[: found.start()], clause[found.end() :]
        ours = not re.search(r"\w", before) or any(each.search(before) for each in (_MOVES, _STAYS, _HAVE))
        outside = released or _ELSEWHERE.search(clause) or not ours or _BECOMES.match(after)
        return None if holds_while or outside or word == "before" else Condition("version", name, "at least", version)
    alone = _ALONE.search(clause)
    if alone is None or holds_while:
        return None
    if _OWN.search(clause):
        return Condition("version", "", "at least", alone["version"])
    if released:
        return Condition("tag", "", "at least", alone["version"])
    moves = _MOVES.search(clause) and word != "before" and "." in alone["version"]
    return Condition("version", UNNAMED, "at least", alone["version"]) if moves else None


#: Words before "to" and a version that name no package.
_VERBS = frozenset(("upgrade", "update", "move", "migrate", "switch", "bump", "go", "get", "umsteigen", "passons"))


def _next(version: str) -> str:
    """Return the version after one: 3.12 after 3.11."""
    *first, last = version.split(".")
    return ".".join((*first, str(int(last) + 1)))
