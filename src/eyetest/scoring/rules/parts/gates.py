"""Cheap questions asked before dear ones: which words a sentence has decides which patterns are tried on it.

The patterns for answers, corrections and refusals have hundreds of branches, and most sentences of a chain of thought
match none of them. Each set here holds a word of every branch of the pattern that it guards (a test checks that).
"""

FOREIGN = "~"
"""Stands for any character beyond ASCII."""
NEGATION = "n't"
"""Stands for any contracted negation."""


def words(text: str) -> frozenset[str]:
    """A set of words, written as one line."""
    return frozenset(text.split())


ANSWER = words("answer answers ans final")
BETTER = words(
    "correct right best final closest nearest appropriate accurate suitable likely plausible logical reasonable "
    "probable obvious "
    "chosen selected proper valid true educated my our remaining possible matching corresponding fitting only"
)
THING = words(
    "answer ans option choice solution response selection conclusion candidate guess pick alternative match fit "
    "letter one bet "
    "statement term description explanation interpretation assumption estimate"
)
CHOOSE = words(
    "choose pick select go going opt opting settle settling say vote guess lean leaning stick sticking change "
    "meant mean answer accept "
    "favor favour conclude"
)
SPEAKS = ANSWER | CHOOSE | (THING - {"one"})
"""Sentences with one of these are looked at even where no option seems to be named: a slip may hide it."""
VERDICT = words(
    "contradict contradicts conflict conflicts violate violates fail fails disagree disagrees doesn't does don't do "
    "satisfy satisfies fulfil fulfill fulfils fulfills meets agrees consistent complies "
    "beats wins works better likelier preferable make makes making leave leaves leaving struck ruled crossed "
    "contradicted dismissed rejected correct correctly right best answer answers true closest match matches only "
    "wrong incorrect false left fit "
    "fits likely plausible "
    "appropriate accurate possible remain remains remaining remained suitable one excluded eliminated out "
    "impossible invalid well "
    "perfectly richtig korrekt falsch correcte correctes correcta correctas correcto correctos bonne bonnes "
    "possibles juste fausse "
    "fausses faus certa giusta sbagliata stimmt solution choice option corrects incorrecta incorrectas incorrecto "
    "incorrectos ~"
)
FOREIGN_CUE = words(
    "ist das es richtig korrekt "
    "creo pienso ~ antwort lösung daher somit deshalb folglich ich donc c'est bonne meilleure "
    "reponse je respuesta alternativa yo elijo "
    "escojo resposta eu diria escolho risposta opzione direi scelgo antwoord odpowiedz cevap jawaban jawabannya "
    "svar svaret oikea vastaus "
    "diria elegiria sondern sino"
)
SO = words(
    "edit correction update now look looks preference preferably "
    "actually second reflection corrected change changed revised rather scratch make but nope sorry between may "
    "might so thus hence therefore consequently then ergo namely meaning conclusion "
    "overall accordingly yes no leaves leaving it's it must has "
    "have should would can could closest correspond corresponds corresponding match matches matching point points "
    "pointing which makes "
    "indicate indicates suggest suggests instead definitely probably likely clearly certainly without named called "
    "known that's that this ~ = -"
)
CONCLUDE = words(
    "concluded so thus hence therefore consequently conclusion conclude overall accordingly summary ultimately "
    "finally "
    "result means confirms leaves "
    "makes also daher deshalb somit donc por quindi portanto dus ~"
)
CORRECT = words(
    "update apologies rather wait hold hang actually scratch correction corrected edit revised oops mistake bad "
    "second reflection closer "
    "again let misread miscounted "
    "misjudged made stand wrong meant mean apologize apologise take sorry edit no hmm double double-check change "
    "recheck re recount rethink "
    "reconsider incorrect right nein moment warte corrige corrijo thought recheck ~ re-check re-count re-think"
)
RETRACT = words(
    "none wait scratch wrong incorrect right correct mistaken true misread miscounted misjudged mistake error take "
    "withdraw retract longer "
    "recalculate recount redo reconsider rethink start try re-do re-examine re-evaluate reexamine reevaluate never "
    "nevermind disregard ignore "
    "oops forget sure fit work add sense re case solution ~"
)
NOUN = words(
    "option options choice choices answer answers alternative alternatives letter letters opcion opciones letra "
    "respuesta respuestas reponse "
    "reponses antwort antworten lettre buchstabe variant variante opsi pilihan risposta opzione lettera antwoord "
    "optie odpowiedz opcja opcji "
    "alternativa ~"
)
ORDINAL = words(
    "one two three four five six seven eight nine ten "
    "first second third fourth fifth sixth seventh eighth ninth tenth last"
)
COUNTED = words("number one option choice answer alternative options choices answers alternatives values")
"""What ``the second`` is said of where it names an option."""
