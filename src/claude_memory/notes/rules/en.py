"""English: how people correct, decide, rule, rank and name things when they talk to a coding agent.

All of it is data; `claude_memory.notes.rules` says how a row is read. Order of things: words are made
plain (SHORT, ENDINGS, PHRASES), what says nothing is taken off (SKIPPED, FILLERS), the mood is told, and
what is left is held against RULES.
"""

# ruff: noqa: E501  A row broken in the middle is harder to read than a long line.

from __future__ import annotations

from claude_memory.notes.rules import Rules, Vocabulary
from claude_memory.notes.rules.en_weights import WEIGHTS

__all__ = ["WEIGHTS"]  # and all below

# --- plain words

SHORT = {
    "u": "you", "ur": "your", "r": "are", "w/o": "without", "b4": "before", "&": "and", "gonna": "going to",
    "wanna": "want to", "cannot": "can not", "can't": "can not", "cant": "can not", "won't": "will not",
    "wont": "will not", "dont": "do not", "doesnt": "does not", "didnt": "did not", "isnt": "is not",
    "arent": "are not", "shouldnt": "should not", "couldnt": "could not", "wouldnt": "would not",
    "havent": "have not", "im": "i am", "ive": "i have", "thats": "that is", "whats": "what is",
    "youre": "you are", "lets": "let's", "let's": "let's", "till": "until", "it's": "it is", "that's": "that is",
    "this's": "this is", "what's": "what is", "there's": "there is", "here's": "here is", "who's": "who is",
    "where's": "where is", "he's": "he is", "she's": "she is", "how's": "how is", "one's": "one is",
    "everything's": "everything is", "prio": "priority", "everyone": "everybody", "anyone": "anybody",
    "colour": "color", "licence": "license", "favour": "prefer", "favor": "prefer", "standardize": "standardise",
    "prioritize": "prioritise", "deprioritize": "deprioritise", "shan't": "shall not", "nope": "no", "nah": "no",
    "whoops": "oops", "nevermind": "forget", "w/": "with", "atm": "now", "immediately": "urgent", "urgently": "urgent", "asap": "urgent", "mustn't": "must not",
}  # fmt: skip
ENDINGS = {"n't": "not", "'ll": "will", "'re": "are", "'ve": "have", "'d": "would", "'m": "am", "'s": ""}
# Several words for one; with the blanks around them.
PHRASES = {
    f" {said} ": f" {plain} "
    for said, plain in {
        "ok then": "yes", "fine with me": "ok", "thank you": "thanks", "thanks for": "thanks", "are to be": "must be", "is to be": "must be", "in the interest": "interest", "okay then": "yes", "go on with": "continue", "as long as": "while", "no need": "needless", "has to": "must", "have to": "must", "needs to": "must", "need to": "must", "ought to": "must",
        "got to": "must", "from now on": "henceforth", "from here on": "henceforth", "going forward": "henceforth",
        "from today on": "henceforth", "at all times": "always", "without exception": "always",
        "no exceptions": "always", "no exception": "always", "across the board": "everywhere",
        "prior to": "before", "ahead of": "before", "in front of": "before", "no one": "nobody",
        "not allowed": "forbidden", "not permitted": "forbidden", "off limits": "forbidden", "off-limits": "forbidden",
        "right now": "now", "at the moment": "now", "rather than": "instead of", "as opposed to": "instead of",
        "in place of": "instead of", "not one": "no", "never mind": "forget", "let us": "let's", "let's me": "allows me", "let's you": "allows you", "let's users": "allows users", "let's the": "allows the", "let's people": "allows people", "i would say": "",
        "show stopper": "blocker", "showstopper": "blocker", "right away": "urgent", "at once": "urgent", "straight away": "urgent",
        "in this codebase": "in this repo", "nice to have": "nice-to-have", "must have": "must-have",
        "as is": "as-is", "as it is": "as-is", "as they are": "as-is", "way it is": "as-is", "for good": "forever",
        "you know what": "ok", "after some thought": "ok", "on reflection": "ok", "in short": "ok", "to be clear": "ok",
        "in the end": "ok", "sounds good": "ok", "makes sense": "ok", "good idea": "ok", "good point": "ok",
        "good call": "ok", "fine by me": "ok", "works for me": "ok", "i agree": "ok", "all right": "ok",
        "by the way": "ok", "just so you know": "ok", "for the record": "ok", "on second thought": "ok",
        "in that case": "ok", "heads up": "ok", "one more thing": "ok", "for context": "ok", "long story short": "ok",
        "good morning": "ok", "good evening": "ok", "good afternoon": "ok", "as for": "regarding",
        "first of all": "first", "first off": "first", "a lot": "much", "had better": "should", "i guess": "",
        "i think": "", "i suppose": "", "i believe": "", "i mean": "meaning", "must have been": "was", "must have expressed": "expressed", "i meant": "i meant",
    }.items()
}  # fmt: skip
# Words that change nothing of what is said.
SKIPPED = frozenset(
    "please pls plz just simply really kindly definitely basically totally completely fully also".split()
)
# Words before what is meant, taken off the start.
FILLERS = frozenset(
    """ok okay k kk yes yeah yep yup fine sure alright right good great cool perfect thanks thank hmm hmmm hm uh um oh
    ah well so and but then hey hi hello agreed btw fyi note reminder remember sorry listen hallo however anyway
    morning evening nice yes>""".split()
)
ASSENT = frozenset("yes yeah yep yup agreed sure then".split())

FAMILIES: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "openers": "and but so because since then while yes> although though as",
        "asking": "next what how why which who whom whose when where is are do does did can could would will should any am has have",
        "personal": "i we you our my us me your mine let's please yes> everybody",
        "speaking": "i you your my me let's please yes>",
        "common": "a an the i we you it that this is are was be to of in on for with and or not no do have has will can must should by at as if so all your our my they",
        "others": """docs doc documentation readme manual book article blog post tutorial paper rfc spec guide linter compiler
            tooltip comment reviewer colleague coworker boss manager professor teacher vendor support user users customer
            customers client clients somebody someone people guy designers designer marketing sales legal changelog reddit
            he she they friend maintainer maintainers author notes forum internet report consultants consultant google
            requirements wiki survey syllabus contractor team lead speaker answer answers half some ceo cto pm architect guru intern consultant forums thread""",
        "say": """states stated say says said saying tell tells told write writes wrote read reads recommend recommends recommended suggest
            suggests suggested claim claims claimed ask asks asked demand demands demanded argue argues argued think thinks
            thought want wants wanted insist insists insisted propose proposes proposed advise advises advised warn warns
            warned mention mentions mentioned complain complains complained prefer prefers believe believes believed love
            hate hates loves""",
        # what a person asks to have done once
        "task": """rename move change add delete remove convert update bump upgrade fix write create make show open look check
            find explain print run list give tell compare refactor implement generate draw plot format sort replace copy
            read review test debug profile translate grep search count describe document split extract clean summarise
            summarize see revert undo commit mark download wrap sketch draft plan investigate inspect regenerate adapt
            rerun redo render save continue walk let have quote spell proofread rephrase reword shorten put turn
            reproduce squash cherry-pick wire post send annotate speed tidy estimate kindly""",
        "look": """see look talk think check discuss find figure hope wait say assume pretend imagine understand review debug
            recap continue begin get explore investigate dig run test try go know""",
        # what one does with a thing when one settles it
        "settle": """use take keep drop skip split merge remove delete make put rename move switch ship store build replace
            convert cache inline start leave do go stay stick call raise fail return accept reject hide show render copy
            support postpone defer park quarantine""",
        "give-up": """skip drop scrap ditch forget leave kill park shelve postpone defer abandon omit ignore cut lose""",
        "modal": "can could may might must should will would shall are have had need want know find see get were do did not asked",
        "keep": "are have carry go come return take own use live stay start end need get log read write do follow must should belong hold stay keep run never always only",
        "never": "never always everywhere throughout henceforth forbidden banned",
        "all": "all every each any everything anything",
        "ban": """add use introduce import put store create hardcode hard-code depend rely call log mix touch pull bring push
            expose leak catch swallow mock throw return pass access share edit modify mutate cache install ship allow
            build let block raise inline nest duplicate reach bypass disable write read ever commit merge make change""",
        "here": "repo repository project codebase service app application product module package library frontend backend engine site lab team monorepo company house shop simulation system crate",
        "wrong": "wrong backwards swapped inverted reversed incorrect mistaken upside misread misunderstood misinterpreted mixed confused invented",
        "past": """used gave got took put left made wrote forgot missed broke chose did built kept read set went sent hid began
            came cut dropped swapped misread misunderstood treated taken given forgotten broken chosen written done had
            changed""",
        "neutral": """suggest propose mention describe say ask offer recommend rock saved suggested proposed asked mentioned described said sent listed offered told recommended promised showed
            helped found explained wanted needed noticed talked called tried did posted shared convinced saved nailed solved impressed""",
        "deed": """fix finish do get ship handle close land solve merge complete tackle clear repair deliver unblock release
            build write sort back unlock answer""",
        "done": """done fixed finished merged closed solved green ready out in gone over live shipped released deployed repaired
            resolved landed signed back up working through complete""",
        "code": "loop call line column row argument byte element parameter semicolon bracket comma statement child character frame test index token class test",
        "fail": """fail fails failed failing break breaks broken crash crashes crashed error errors returns returned prints printed
            takes took hangs flickers refused timed got expected throws threw warning exception slow slower""",
        "named": """branch branches port ports url uri link host hostname bucket id ids key tenant number database db user username
            account instance flag version path file folder directory prefix suffix endpoint topic queue table schema
            namespace cluster region zone timezone timeout limit quota server registry image tag repo repository channel
            ticket environment env variable var name checkpoint pin gpio address ip domain email model dataset package
            service container pod node job index collection stream device serial profile role group org workspace app
            webhook api release build sha hash revision seed threshold ratio rate retention ttl interval size locale
            currency encoding license milestone epic sprint customer contract machine box vm runner kernel driver
            firmware baud frequency i2c spi uart bus offset register canary staging prod production sandbox gateway
            proxy mirror remote origin upstream fixture fixtures sample asset font theme header cookie scope issuer
            partition shard replica primary cron schedule deadline budget setting settings parameter constant
            socket mount volume disk uuid uid code credentials lifetime expiry max maximum min minimum connections identifier project coverage docs fork login password-name resource
            stack compiler toolchain bot handle contact slot relay button display sensor corpus bundle data logs""",
        "hold": """is are will be stays stay called named lives live sits runs run listens uses use compiles reachable at on under
            pinned set published = : as posts found goes reads reads""",
        "prep": "of in on at by to from for with about than and or but is are was were be the a an after before since until over under within , : =",
        "symptom": "keep keeps look looks seem seems feel feels disappear hang flicker appear show shows stop stops work works get pass passes happen come complain see vanish jump differ lost",
        "counted": "option step line question table section page part chapter number version point item finding row column figure fig exercise level task bug issue pr commit test lines plan variant top first last next about number least most phase sprint week day p",
        "work": "query code test tests diagram output version draft patch fix change changes solution script function conversion example answer numbers chart summary implementation regex migration table component translation parser loop schema snippet class module edit commit",
        "wh": "what how why which who when where is are does did can could would will should",
        "aux": "do does did is are was were can could will would should must may has have and or but",
        "busy": "having seeing getting trying looking talking working waiting running missing losing thinking wondering hoping testing debugging seeing investigating",
        "stative": "are have can could should must want need see know get were had did would may might will shall all both both, only always never were think hope like love got saw found is in on to , : from at with run currently never talked agreed",
        "habit": "use write log store support target follow avoid standardise standardize ban release require deploy",
        "thanks": "thanks great good nice perfect well neat clever lovely cool elegant smart beautiful impressive brilliant",
        "weekday": "monday tuesday wednesday thursday friday saturday sunday",
        "weight": "important urgent pressing critical",
        "quality": """stability speed correctness quality security performance features accuracy safety simplicity readability
            shipping reliability latency throughput cost tests bugs fixes polish correctness""",
        "pron": "i you it that this there we he she they the",
        "month": "january february march april may june july august september october november december spring summer autumn winter",
        "one": "one option variant approach alternative proposal version layout design solution idea plan way",
        "count": "first second third last former latter middle left right other 1 2 3 4 5 a b c d one two three",
    }.items()
}


# Families that weigh something when one of their words is said.
WEIGHED = tuple(
    """task settle give-up never all ban here wrong past deed done fail named quality weekday weight others say look
    work symptom count one""".split()
)

_rules = Vocabulary(FAMILIES).rules


# --- moods

ASKED = _rules("""
    ^^ how|why|which|who|whom|whose
    ^^ what ~matters|counts|worries|i|we|blocks|you|comes|is
    ^^ what is ~most|more|less|really|important|urgent|needed|critical|crucial
    ^^ when|where is|are|do|does|did|will|should|can|was|were|would|one|exactly|in
    ^^ do we|you|i|they|these|those|both|any|our
    ^^ should ~have|be|read|say
    ^^ has|have|had you|we|they|i|it|the|this|that|anybody
    ^^ is|are|am|was|were|does|did|can|could|would|will|shall|may|might ~not
    ^^ is|are|does|did|can|could|would|will not the|it|that|there|this|we|you
    ^^ any idea|reason|chance|thoughts|trace
    ^^ ~i|we|you .. you think
    ^^ what you think
""")
SUPPOSED = _rules("""
    ^^ suppose|supposing|imagine|assume|assuming|pretend|hypothetically|theoretically|were|curious|say
    ^^ let's say|assume|imagine|pretend|suppose
    ^^ thought experiment
    ^^ in theory
    ^^ if|unless !! if you ... do|use|make|write|add|touch|must|always|never ; if time ; if you only ; so .. first ; unless .. , ... so|first
    if we ever
    if this|that|it was|were
    for the sake of argument
    ideal|perfect world
    we|it|one|they would ~like|rather
    could argue
    =plural would prefer|like|love|want
    would love|like|hate|quit !! i would like|love
    nothing|not is? decided
    not|un|have decided yet|undecided
    not sure
    would be nice|cool|great|good|interesting
    some day
    i wonder|wondering
    maybe|perhaps we|i|you
    we|one could
    i have no|not .. opinion|view
    thinking aloud
""")
HANDED_ON = _rules("""
    @others .. @say
    ^ * mentioned|said|says that|his|her|their|he|she|they !! ^ i|we|you|it|nobody
    copied|taken|quoted|pasted out|from|straight
    in his|her|their opinion|view
    ^^ * says|said|told|wrote|thinks|asks|asked|claims|suggests|suggested|recommends|wants|insists|proposed|believes !! ^^ i|we|you|it
    ^^ our|my|the|a|an|one|some|his|her|in * *? says|said|thinks|claims|wants|suggests|suggested|believes|insists|recommends|asks|asked|told|wrote|complained|hates|loves|states|prefers|demands|argues|reads
    ^^ heard|apparently|allegedly|reportedly|supposedly
    according to
    quote|quoting|excerpt from|of
    titled|entitled|captioned
    as the saying goes
    says the
    in the review|thread|minutes|transcript
    ^^ from the|my|a .. intro|spec|docs|readme|manual|paper|thesis|article
""")
OWN_VOICE = _rules("""
    ^ i|we|you said|told|wrote|asked|wanted|thought
    i asked|told|said|wanted|meant
    ^^ we|i should|must|will|shall|want|do|never|always
    you asked|said
""")
# A prompt that holds one of these says the opposite of what it means.
NOT_MEANT = _rules("""
    oh great
    yeah right
    kidding|joking|haha|lol|hehe|🙃|🙄|j/k
    nobody needs
    who needs
    could .. go wrong
    because obviously|of course
    what i needed
    problem solved
    /s $
    of the decade|century|millennium
    ^^ yes> ,? clearly|obviously
    by all means ,? let's
    while we are at it
""")
# Sentences of a prompt that begins so describe something, if nobody speaks in them.
DESCRIBING = _rules("""
    ^^ background|context|description|excerpt
    ^^ here is|are .. section|chapter|protocol|description|text|spec|paragraph|excerpt|draft|abstract|requirements|story|notes|transcript|readme
    ^^ from the .. :
    ^^ the .. text|spec|abstract|paragraph says|reads
    ^^ this is what
    understand
    ^^ our|the|my product|app|game|company|startup|business|shop|system is|has|allows a|an|two|three|four|five|*
    ^^ this is how
    ^^ text|paragraph|sentence|excerpt|passage|abstract|wording from|of|in
""")
# A line that ends in a colon and says one of these hands a text over.
ANNOUNCING = _rules("""
    message|messages|text|paragraph|sentence|log|logs|output|readme|changelog|ticket|mail|email|comment|description|diff|snippet|entry|error|docstring|abstract|spec|excerpt|passage|wording|story|draft|title|subject|docs|ci|review|transcript|minutes|advisory|announcement|issue|pr|post|quote|answer|reply|response|requirements|proposal|essay|letter
    says|said|wrote|writes|gives|prints|printed|shows|showed|got|get|returned|reads
    translate|shorten|proofread|rephrase|summarise|summarize|reword|polish|spellcheck|simplify|explain
""")
# A sentence that holds one of these rules, however much it describes.
BANS = _rules("""
    forbidden|banned|henceforth|rule|rules|conventions|principles
""")
# A one-off task: what it says of order, choice or names is about its object, unless a FIRM rule fits.
TASK = _rules("""
    ^^ @task !! ^^ * .. is|are|will ; ^^ * * : ; ^^ make|go with|for|it ; ^^ have|let ~a|me
    ^^ can|could|would you
    ^^ go through|over|and|to|back
    ^^ i want|need|would you|to
    ^^ yes> run|show|tell|explain|continue
    ^ explain|translate|summarise|summarize|rephrase|proofread|shorten
    ^^ .. message|subject|title|sentence|heading|caption|headline|tooltip|typo|comment :
""")

# --- what is worth writing down

RULES: dict[str, Rules] = {
    "correction": _rules("""
        you ~@modal|@neutral|think|like|mean|try|prefer|all|guys|too|again|will|$|=path|,|and|or * !! if|when|whenever|once|as|before|after|until|that|what|whatever|everything|anything|like|which|how|where|so|thing|things|thank|see|time|for|to|with|of|than|then|can|could|would|will|should|may|might|owe|tell|told|gave|give|show|send|ask|asked|let|wish|need|want|hope|trust|did|do|have|are|because|since you ; you do|add|write|touch|use|make|build ; @thanks|well|nicely ; ^^ @task
        you did not ~need|have|ask|have *
        typo|mistake|slip of|on my|mine|part|side
        do not think .. right|correct|true|what|how
        i pasted|sent|gave|attached|quoted|used .. old|wrong|outdated|other|previous
        is|are obsolete|moot|superseded !! if|why
        forget|ignore|skip .. of|in|from my|the last|mail|message|comment|note
        should not be|have|exist|appear there|here|in|shown|visible|part
        ^ that|this|it|these|those is|are not our|my|the|what|how|where|a|an * !! problem|issue|if|question|good|bad|bug|deal|big
        it|this|that was|is never|not about * !! if|sure|worried
        opposite !! why|what|the opposite of ; if|whether
        look|check|read|reread again ,|: * ... !! thanks
        wrongly|incorrectly|mistakenly
        my question|request|point|order was|is about|for|whether|*
        that was|is the|my task|question|request|point|order|requirement $ !! what|if
        like you did|do|have
        what you call|describe|see|show|list|have is|are *
        ^ that|this|your answer|result|output|version|number|file|one is|are|was about|for|from|of|in * !! @thanks
        should|must ... , not *
        that|this|which was|is not the idea|point|plan|intention|goal|deal|question|task
        and not ~only|yet|just|sure * !! ^^ @settle|let's|we|i|always|please ; always|never ; or|and not? sure
        i|we was|were|been|have|must-have unclear|imprecise|sloppy|expressed|explained
        expressed|explained|put myself|it|that badly|wrong|poorly
        you have|had? ~@neutral -ed|@past !! @thanks|well|fine|nicely|works|if|when|once|after|before|until|so ; as|like|that|which|whatever you ; ^^ i like|love ; ^^ @task
        what you -ed|@past|have|are is|was|has ~@thanks|right|fine|ok
        yours ~@thanks|look|truly *
        ^ that|those|this|these|it|they is|are|was|were not .. , * !! important|urgent|needed|worth|enough|done|merged|tested|ready
        has|have|is|are a|the typo|mistake|error|bug? , it is|must|should *
        is|are|was|has|have .. and not *
        i had? said|asked|told|wrote|described|wanted|meant|specified * !! i said yes|ok ; asked|said|told|wanted on|in|at|around|him|her|them|nobody|my|somebody
        by .. meaning|mean *
        ^^ no ,? it|that|the|this|they *
        i need|want|meant the .. one|version
        ^ your @work ... -s|is|are|was|has|have|does|do|hit|use|miss|need * !! @thanks|fine|ok|right|correct|ready|works|better|perfect|ready
        i had in mind
        contrary to
        not part of|in the request|task|ask|brief|spec
        ... , you ~@modal|@neutral * * !! ^^ if|when|once|as|before|after|whenever|since|for|unless|next|then|now ; thanks|thank|see|know|mean|agree
        i see|notice|noticed|saw that? you -ed|@past
        it is the .. i|we want|need|wanted|needed
        ^ that|this|it|you can not call|use|do|exist|work ... !! why|how|anymore
        , you can not *
        i of? only|really|actually|course? meant !! what i meant
        i did say|ask|write *
        i forgot to tell|mention|say|add
        you were thinking of
        meaning|mean the|a|that|only|=id
        i would|have|had? never|only|specifically|explicitly? asked|requested|wanted|said|told|specified * !! asked|said|told|wanted on|in|at|around|him|her|them|nobody|my|somebody
        i did not say|ask|mean|want *
        i was asking|talking|referring|thinking|after|looking !! looking for
        what i asked|meant|wanted|said|wrote|described !! exactly|precisely what i
        ^ you have|had|are? ~@neutral|-ly -ed|@past ... !! @thanks ; you got it|me|this ; you did it|great|well|good|a
        instead of .. you -ed|@past
        you invented|forgot|missed|misread|misunderstood|misinterpreted|ignored|overlooked|assumed|confused|swapped
        you keep -ing
        you have|got|had|read|put|took|did .. wrong|backwards|with|as|swapped !! as-is
        @wrong !! what|why|something|anything|nothing|went|goes|if|whatever|could|may .. wrong ; if|whether|why|where|how ... @wrong ; @wrong values|password|input|sign|compatible|compatibility ; mixed content|case ; shows|displays|returns|gives|prints|renders .. wrong ; wrong .. shown|displayed|appears|returned ; bug|sometimes|since ... wrong
        point|points|face|faces|runs|run|goes backwards
        the other way around|round
        should|must be|say|read|come|point|mean|start|return|show|go|have .. not|instead !! we|you|i should ; never|always ; before|until
        should have been|said|used|gone|kept|had|read
        is|are|was|were not|never? supposed|meant|intended to
        ^ use|take|put|call|make|import ~@aux *? ~@aux *? ~@aux *? not ~sure|yet|more *
        ... is|are|was|has|have|uses|runs|begins|starts|comes|can|means|in ... , not ~sure|yet|only|really|worth|needed|earlier|now|important|urgent|necessary|just|a * !! settled|decided|decision|final|let's|henceforth|always|never ; ^ we|i
        ^^ not the|that|this|a|my|our|those|these|@weekday|=id .. , *
        ^^ not * , the|it|a|we
        ^ it is the|a .. that|who|which -s
        it is not|no .. , * !! important|urgent|needed|worth|enough
        ^^ no , ~no|worries|problem|thanks|idea|rush|need * * !! ^^ no , let's|leave|keep|skip|drop|stick|forget|go|we|use|do ; ^^ no , need|thanks
        ^^ no no ~all|,|worries|problem *
        wait|hold|hang on? ,? no|that|it|you|not * !! let me ; wait|on ... read|check|look
        ^^ oops
        ^ actually , ... !! could|can ; actually , never
        ^^ actually the|it|we|that|this|what|my|you|i ... !! i actually like|love
        scratch|strike|disregard|retract that|what|my|this|the
        ignore|forget what|my|about? i|last|previous|earlier|said|wrote
        i take that|it|this back
        my mistake|bad|error|fault !! works
        i was wrong|mistaken|confused
        told|gave you something|a|the wrong|false|wrong|nonsense
        i misspoke|mistyped|mixed|confused|misread
        ^^ correction
        ^^ almost|close|nearly|not there|quite|but? $
        means|refers|stands ... you have|are? @past|-ed
        that|this|it is|was the|for|from|an the? old|other|previous|earlier|stale|outdated
        is|are|was the|an old|other|previous|outdated one
        not true|right|correct|how|what !! if|whether ; not right now
        is|was|are false|untrue !! false $
        there is no such|=id
        but|, yours
        ^ you are ~@thanks|right|going|doing|working|welcome|using -ing *
        is|are ... , you have|had|used|did|do
        i|we already have|had|has|use
        answers something else
        spelled|spelt|pronounced *
    """),
    "decision": _rules("""
        i am not? taking|choosing|picking|dropping|keeping|cutting|killing|switching *
        i do not want the|this|that|a|an * !! always|ever|any|never
        agreed on|to|that
        ^ final :|,|:
        ^^ no more -ing
        can be switched|turned|thrown|taken|left|shut off|out|away|down
        since|because|for|as ... is|are fine|ok|enough|sufficient $
        costs? too much
        so|and they|it|that|these|those go|goes|stay|stays|leave $ !! where|how
        ^ * *? *? stays|remains $
        i|we will? pass on *
        no .. needed|required|necessary $
        then , not *
        may|might as well *
        ^ * for * , * for *
        i want|like|prefer the -er|-est|-ier *
        for now ... fine|ok|enough|sufficient|will|do|suffices
        we do not need *
        for the rest|others|remaining|moment $ !! can|must|wait
        ^ the|our|it|that|this|both .. stays|stay|remains|remain * !! all|every|each|always|never|why|stateless|pure|thin|no_std|broken|red|empty|blank|open until
        ^^ yes|no to the|a *
        we @habit the|this|that|a|an|one|your|both|our|=num * !! how|what|where|when|if|before|that|until|once|which|than|as|why|whether we
        ^^ use|take|do|implement|choose your|my|the @count|other|simpler|smaller|bigger|old|new|existing|suggestion|proposal *?
        interest|sake|lack of time|simplicity
        ourselves|myself $
        : no *? *? $
        leaning|lean towards|toward|to|on
        are|is|it|been agreed|settled|decided !! if|not|what|been|yet
        so|therefore|hence build|use|take|implement|ship|publish|keep|drop|go|in|we that|it|this|with|goes|for|-s|the|publish|do|take|build
        that is|are plenty|enough|sufficient $
        ^ the|our|this .. will run|start|get|have|use|ship|contain|show|support|live|open|cost|stay * !! if|when|once|until|before|how|what ; =id ; fail
        i give up on
        vote|choice|pick|preference goes|is|for|to
        i like|want|take|prefer|choose|vote .. best|better|more|instead|for|over !! if|would|much
        answer .. is yes|no
        it|that|this|answer will be * !! when|after|if|once|until|before|fixed|done|ready|easier|hard|slow|faster|needed|possible|great|nice|good|fun|fine|used|called|=id
        ^ the|our|both|dark|light|* *? *? is|are out|gone|dead|history|cut|dropped|removed|cancelled|canceled|postponed $ !! now|i|my|after|since ; why
        here is what|how we
        yes> delete|remove|cache|@settle
        ^^ no * for|in|on the|that|this * !! repo|codebase|project|domain|core|service|need|idea
        i would only|just|rather|simply|still *
        ^ do not fix|touch|change|rename|refactor|migrate ... , they|it|we|that * !! always|never|until|before
        not worth
        i am fine|ok|okay|happy|good with *
        we are fine|ok|okay|happy|good with *
        ^ it|that|this stays|remains|becomes *
        will do $
        am|are not going to *
        ^^ let the|it|them|both * ...
        you can|may|could throw|delete|remove|close|drop|retire|archive|undo *
        ^ take the one|ones|first|second|smaller|bigger|simpler
        change of plan
        outcome is
        make|making the|my call|choice|decision
        ^ the|our|-s .. gets|get ~called|lost|stuck|null|slow|corrupted|confused|an * !! when|after|if|sometimes|why|since|every|each|all|new|once|until|before ; @fail
        is|are going to be? * !! =id ; fail|break|crash|take|need
        ^ the|our|-s .. will be * !! =id|=num ; when|after|if|once|until|before|by|fixed|done|ready|implemented|easier|hard|slow|faster|needed|possible
        ^^ no * ... in|for the first|this|next|initial version|release|iteration|round|draft|step
        i have thought|considered|compared ... want|take|like *
        ^ i|we want|like|prefer|take the|option @count
        let's ~@look|not * !! let's have|take|do|get a|another look|break|call|chat|walk|pass
        let's not ~@look|worry|forget
        let's do|go|get|try|start|run with|for|it * !! let's go $
        ^ we|i|let's? will|would|are|am? go|going|gone|went with|for *
        ^ we|i|let's? will|would|are|am? stick|sticking with|to *
        ^ we|i|let's? will|would|are|am? settle|settled|settling|opt|opting|opted on|for *
        ^ we|i|let's? will|would|are|am? stay|staying with|on|at *
        we will|shall not? ~@look|need|have|be|see|probably|lose|get|hit|run *
        i will take|go|use|keep|stick|have|pick|choose|leave
        i would rather|prefer|go|pick|keep ~know|hear|see
        i prefer|choose|chose|pick|picked|vote *
        we ~@stative|@habit|-ed|-ing|@wh|not * !! we do not ; how|what|where|when|if|before|that|until|once|which|than|as|while|why|whether|since|everything|anything|all|thing|say|suppose we
        we are not? ~@busy -ing * !! while|when|until|before|if|that|what|where we are
        we|i|board have|has|finally? decided|chose|chosen|picked|settled|agreed|opted|voted
        ^ decided|settled|decision|verdict|conclusion *|:|,
        final answer|decision|call|verdict
        ^ * *? *? wins $ !! what|who|which|always|usually
        gets|get written|built|done|ported in|with|on *
        made up my|our mind !! not|yet
        convinced|sold me? ,|:|$|on
        ^ you|we? can? @give-up|stop|cancel ~to|ahead|through|me|us|everything|a ~comment|note !! ^ drop the? database|table|index|column ; ignore the? wording|noise|typo ; leave a ; drop|stop everything|whatever|what ; forget $|it
        do not even? bother|spend|worry|finish|invest
        needless
        not|hardly worth
        overkill
        good enough
        is|are enough $
        can go|die|be $|dropped|removed|skipped|deleted|scrapped|retired|cut
        are|is|stays|remains not|no|out|off longer? needed|scope|of|the scope|table
        ^^ @settle|no|one|only|mock|stub|return|hardcode ... for now|this|v1 !! always|never|every|each ; ^^ run|show|make a
        ^^ @settle|no|one|only|mock|stub|return|hardcode ... for|in the|this prototype|pr|release|demo|mvp|pilot|sprint|round|version|page|ticket|feature|screen !! always|never|every|each
        this time|round $
        ^^ keep|leave|stay|stick it|the|that|this|both|our|on|with|one|only|to|them ... !! keep me|an|track|in ; no|never|always|every|all
        ^^ go ahead with|and|but
        ... , but? without the|a|step|any|-s
        ^ ship|merge it|that|this straight|as-is|as|now|without
        ^^ do it|this|that the|with|in|as|like|by|without|via
        ^^ i|we|let's|yes>? like|want|take|use|do|make|pick|go|implement? the|with|for? option|plan|variant|alternative|approach|proposal|number @count|=num
        take|like|prefer|want|pick|choose|use the|your @count @one
        ^^ the? @count @one ,|$|works|it|then
        ^^ ~what|how|where|as|so|that|whatever .. it is then? $
        ^^ ~now|well|what|until|by|since|see|how|back|only|if|or|even|run|show|try|check * *? then $
        becomes|become a|an|one|the|part !! has|have become ; if|when|once|after|while|until ... becomes|become
        stay|stays|remain|remains as-is|alive|open|where|in|on|out|off|at|private|manual|optional|untouched|unchanged|disabled|enabled|the !! all|every|each|always|never|everything|why ; stays|stay open until
        ^ both|the|our|old .. go|goes away|$ !! loop|function|call|wrong|what|how|where|whole ; as the ; ^ the rest
        go|goes in @month
        go|goes|sent|ship|ships|released out? as|with|without a|an|one|plain|the|-s|html|text
        ^ that|this|one|a|the .. will do|suffice $
        can|could live with|without
        moves|move|goes|go into|to the|a|its * !! top|bottom|front|back|end of? ; to the top|bottom|front ; where|why|how|what ; all|every|never|always|must
        plan is
        ^ the|our ~next|first? .. will ~@look|be|fail|break|crash|need|take|not|have|come|get|probably|happen|cause|lose * * !! if|when|once|until|before ... will ; how|what|that|which|who will
        yes> @settle ~it|that|so|ahead|on *
        ^^ no * ... for this|now|v1 !! no need|idea|problem|worries|rush
        ^^ no * *? , * * !! no idea|problem|worries|rush|thanks|need ; no , ; no wonder
        instead $ !! ^ you|i|why
        ^ use|take|make|render|show|put|write|store|return|send|build|do ... instead of *
        against the|a|using|it|that !! run|test|check|compare|plot|against the? staging|production|live|db|spec
        by hand|default $
        is|as|on default $|,|:
        ^^ only|use *  *? for|in|on the|this|that|now|it !! use|only a|an ; everywhere|always|all|never|every|anywhere ; =id|=path
    """),
    "architecture": _rules("""
        in|at this|our @here ... all|every|each|no|nobody|only *
        and nothing|nowhere|nobody else|besides|more
        we try|aim|strive|like to *
        ^^ in|on|for this|our @here we|all|every|each|no|nobody|the|-s * ... !! find|is|are there
        ^^ all|every|each new|our|public|future|internal|external * ... !! before|until|first|looks|fine|pass|fail|green
        only in|inside|within|through|via the|our|this|a *
        only the|a|our .. allowed|permitted|may|can|must *
        forbids|forbid|mandates|mandate|prohibits|disallows !! guide|spec|docs|standard|linter
        ^ everything|anything|whatever|whoever that|which|you|we|can|needs|talks * * ... !! before|until|first|now|today|looks|works|finish|means|like|want ; so anything
        that|this|it is a|the|our principle|rule|policy|convention|given|promise|invariant
        you should|must never|always|not * !! before|until|first|today|see|know
        @all our|my|new|future|public * ... must|need|needs|should|use|return|are|have|get * !! before|until|first|today|tomorrow|week|now|unless|fine|ok|green|failing
        i would like|want|expect all|every|each|no|future *
        exactly|only|single one? place|way|module|source ...
        in|at our shop|team|company|house|lab|group|org|org|projects|code|repos|apps|services|tests|terminology ...
        nobody -es|-ts|-ks|-hes|-ds|-ls|-ns * !! knows|uses|cares|needs|likes|wants|reads|understands
        do not ever? use|add|introduce|want|accept any
        nothing but
        ^^ ~@pron *? *? code|layer|core|module|modules|component|components|class|classes|library|libraries|function|functions|package|handler|handlers|tests do|does not * !! why|how|when|if|anymore|work|compile|run|pass|exist|seem
        make it a habit|rule|point|convention
        -s? by design|convention|principle|definition
        we keep .. free|out|separate|thin|small|stateless|pure|simple|clean
        ever $ !! worst|best|first|fastest|slowest|have|seen|than
        there will|must|may|should be no
        important to us|me that
        zero|no .. dependencies|dependency
        for|in everything|anything|all|every you|we do|write|build|add|touch
        clarity|simplicity|readability|safety beats|over|before *
        in every|all|any pr|commit|file|module|class|function|script|test|component|service|package|code|change|release|-s !! look|find|search|check|grep|list|bug|typo|error|=num
        only , ... not|no|never
        has|have no business -ing|in|knowing
        ^^ all|every|each|any *? *? : *
        company|team|house|our|project policy|rule|convention|standard|style !! =url|=id
        if|when|whenever you ... always|never|must *
        ^^ ~the|these|those|this|my|your|thanks|yes> *? =plural ~@prep|@keep|@symptom|=num|then|-ed * * ... !! ^^ * it ; ^^ it|he|she|that|this|there|what ; @fail|when|since|if|after|today|now|still|again|before|until|first|yet|i|you|@symptom|@thanks ; ^^ @task ; =id|=num
        are|is for =plural|the * $
        stays|stay|remain|remains in|inside the|our eu|company|house|domain|core|device|browser|server|process|region $
        ^^ i insist|expect *
        ^^ ~the|these|those|this|my|your|it|that|he|she *? =plural @keep ... !! @fail|when|since|if|after|today|now|still|again|before|until|first|yet ; are good|fine|ok|great|missing|wrong|empty|broken|slow|there|red|green|done|outdated|unused|gone|cosmetic|shown|going|not|mixed|stuck|blocked|waiting|too|very|nice|welcome|more|most|just ; =id|=num
        comes|come|goes|go|lives|live|depends|talks|talk ... only $
        knows|know nothing
        nothing|nobody|no .. may|must|should * !! until|before
        how|way we do|work|handle
        not|no|never ... here $ !! if|why|find|see
        i|we expect|want|need|like each|every|all|no *
        throughout the|this|our|all
        rule .. :
        we treat *
        @never !! i|you|it|which|who|that|there|is|are|was|has|have never|always ; can never ; henceforth : =id ; never|always -ed|forget|forgets|seen|heard|thought|mind|had|been|wondered|remember|works|worked|happens|happened|fails|gets|got ; hardly|as|better ever ; never more|mind
        anywhere|nowhere !! find|found|see|seen|mentioned|documented|used|call|go|goes|still ... anywhere|nowhere
        ^ new|our|the|your|and|in? @all ... must|goes|go|needs|need|gets|get|uses|use|lives|live|belongs|belong|has|have|is|are|stays|stay|returns|return|carries|follows|follow|comes|come|starts|ends|lands|log|logs|reads|read|build|hangs|hang|takes|take|inherit|should !! before|until|first|today|tomorrow|week|now|unless ; looks|look|fine|ok|good|green|red|broken|failing|passing|down|done|clear|there|great|else|both|finish|right|cosmetic ; @all of|is|in|the|this|that|these|those|its|it|good|set
        -s all get|go|use|have|live|need|must|return|come
        everything|anything|nothing ~else|looks|works|is|ok|ships|can|to|is|i|you * ... must|through|hangs|lives|goes|in|via|gets|under !! until|before|first
        we should never|always|only|not|all? ~be|see|talk|look|discuss|check|wait|do|fix|finish|have|get * !! before|until|first|today|tomorrow|week ; for this|now
        must|shall|may|can never|not|always|only ~be|have|wait|come|find|see * !! before|until|first|today|tomorrow|week|because|finish|why ; i|you|it|this|that|there|we must|shall|may|can ; so .. must|can ; can|may not ~talk|import|call|access|use|depend|know|touch|reach|write|read|contain
        must be|stay|remain|have|use|go|return|pass|live|start|end|carry|accept|include|inherit|implement|validate|log|follow|hold ~something|somewhere|wrong|because|green|done|correct|merged|fixed|a|in|out|gone|ready|closed|solved|some|back|able|first|finished|taken|the * !! before|until|first|today|tomorrow|week|because|finish|why ; i|you|it|this|that|there|we must ; so .. must
        must|shall work|run|support|build|go|live|pass|come with|without|on|offline|through|in|under|via|from|behind ... !! before|until|first|today ; it must ; you|i|we must go
        we always|never|only|avoid|standardise|ban ~-ed|understood|had|got|saw|found|knew *
        we no longer *
        we do not|no want|use|allow|do|have|put|write|accept|support|mock|commit|add|import|ship|log|catch|throw|touch|share|keep|store|expose|squash ... !! yet|today|for|now|this|because|know|until|before|do not need ; want to|this|it|that ; do not do|have time|it|that|this|any
        we|i want hexagonal|one|all|every|each|no|only|-less * !! to see|know|check|look|understand ; want one $
        ^ here|there? we @habit|mock|pin|version * ... !! for now|this|the ; today|yet|where|how|what|when|if|before|until ; we * it|this|that|the|a|an|one|both|your ; =id|=path|=num
        ^ you|we|but? do not ever? @ban ... !! yet|today|tomorrow|now|until|before|bother|worry|time ; for this|now ; do not make|change|touch|write|use|ship|read anything|any|it|that|this|me|the|more ; do not commit|push|merge|run it|this|that|anything|yet|$
        ^ never|avoid|ban|prefer|always ~mind|thought|seen|heard|been|worked *
        i|we do not want|like|accept any|to|new|global|raw|another !! to see|wait|lose|break|know|talk|go|spend ; do not like
        ^ no ~idea|problem|worries|need|rush|thanks|doubt|matter|way|longer|hurry|one|errors|wonder|, .. in|on|after|outside|inside|within|across|at|from|between|via|allowed any|this|our|the|@here|build|run|compile|import|runtime|*? ... !! for this|now|v1 ; no need|zstd ; no -s? found|left
        ^ no new|more|extra|third-party|external|additional|hidden|magic|raw|direct|global|shared|mutable|circular|inline|default|runtime * !! errors|warnings|issues|messages|findings|failures|problems|commits ; for this|now
        , no|only|never|nothing -s|* *? *? $ !! for now|this ; if|when|what ; ^^ use|skip|drop|let's|go|i|you|we|yes|do ; , no need|idea|problem|rush|errors|luck ; ^^ @task ; there is
        only through|via|by|from|at|inside the|a|an|our|its|*
        is|are the only way|place|module|one|thing|source
        only|not ever? allowed|permitted|acceptable
        ^^ only the|our|a .. may|can|talks|calls|knows|writes|reads|touches|imports|owns|holds
        in|for|across|throughout|inside|within|on this|our|the|any|all|every whole|entire|new? @here|modules|services|packages|endpoints|handlers|components|domain|core ,|$|:|— !! find|search|grep|look|check|list|show|count|fix|rename|delete|bump|update|sort|move|translate|format|is|are|there|open|have|had ; branch|version|ticket|port|id|key|variable ; i|you|me|my
        as with|everywhere everything|all|in|every|always ...
        goes|go|talk|talks|pass through|via the|a|our|net|=id ... !! ^ i|you|let's|can|please|go|request|requests ; where|why|what|how|whether ; go through the|it|this|all|each|my|that|thesis ; @count
        state|logic|code|config|secrets|types|queries|sql|rules|strings|files|tests|styles|validation|access|writes|reads lives|live|belongs|belong|stays|stay|goes|go in|on|under|to|outside|next|behind|into !! =id
        hangs|hang off
        source of truth
        rule|policy|convention|principle|guideline|invariant|standard|style here|is|:|for|— ... !! what|which|a rule about ; ^^ do
        our|house|general|matter|the|a of? rule|policy|convention|principle|guideline|invariant|standard|principles ,|:|is|for|here|$
        standardise on
        must|should|always|stays|remain|are|is|be .. idempotent|stateless|immutable|deterministic|reproducible|thread-safe|offline-first|hexagonal|event-driven|side-effect-free|framework-agnostic !! why|how|what|if
        ^ keep the? .. hand|handwritten|hand-written|stateless|pure|thin|dumb|flat|free|out|independent|synchronous|immutable|internal|private|separate
        ^ clients|core|domain|api|modules|components|handlers|services|views|models|the? .. stay|stays|remain|remains dumb|thin|pure|stateless|no_std|free|small|simple|internal
        ^ prefer|favor ... over|to|for|in|instead
        whenever|wherever you|we|somebody|there|a|an ... must|should|always|never|add|write|use
        every time you|we ... must|should|always|never|add|write|use|has
        must|should support|work|run on|with|without|offline
        backward|backwards compatible|compatibility
        ^^ ~i|you|it|that|this|there|we|he|she|they .. do|does not import|depend|know|touch|call|talk|access|reach|throw|log|hold|contain|share|leak|mutate|block !! why|how|anymore ; the test|build|page|button|script|app|link|server|job
        one * per * !! for now|this ; print|write|show|give|generate|create|make|output
    """),
    "priority": _rules("""
        only .. now $
        last $ !! at|the last $
        i would|will start|begin with
        what i|we need|want|care most|first|now
        critical|essential|crucial|vital|important for|that|to ... !! not|what|how|if|why|important to note
        costs|costing|cost us|me|money|sales|customers
        that|this one now|first|next
        rest|others is|are irrelevant|optional|secondary|unimportant|bonus
        must|may|can not slip|fail|break|wait|delay !! why
        one|only thing ... is|be * !! noticed|saw|found|missing
        top|biggest|main|greatest risk|danger|threat|worry|pain
        if you .. only|manage|one .. one|today|thing
        essential|crucial|vital|indispensable|decisive !! essential|crucial part|question|idea
        keeps|keep me|us awake|up|busy
        else is noise|secondary|optional|bonus|later|irrelevant
        on hold|ice
        first and foremost
        can not|hardly wait !! i can
        all|full|most|the attention|hands|effort|energy
        leaves|closes|starts|ends|meets|launches on|in|at? @weekday|tomorrow|tonight|today !! why|what|when
        if time is|gets|runs
        if you only *
        can|could|may|will .. when|once|after .. @done|complete|stable|stands|exist|exists|finished !! when|once|after i|you|we
        losing|lose money|users|data|messages|customers|orders|trust
        ^ step|number one|1 is
        * before * !! always|never ; never|not|ever|as|like|just|right|week|day|days|year|month|minute|hour|had|was|were|did|saw|seen|worked before ; before lunch|i|christmas|and|long|now|but|that|this|returning|calling ; before the? @code|function|request|config|build|server|user|database|first|last|next|second|render|commit ; if ; before tax|vat|noon|midnight ; -s before ; runs|run|called|executed|loaded|applies|read|set|call ; i|you tried ; day|night before
        , first make|get|fix|do|finish|the|*
        only|just a bonus
        bonus|secondary|escalated|paramount|overdue !! escalated privileges
        top|main|biggest|primary|first|sole concern|worry|issue|problem|item|goal|objective|thing
        idle|stuck until|because|without
        rest .. can|must|may|is|whenever|later|pointless|wait|move|next
        so .. first $
        ^ * *? *? first $ !! at|who|which|what first ; -est first ; run|look|read|show|check
        more|most|less|least serious|valuable|relevant|dangerous|painful|severe|interesting|crucial|vital|essential
        goal|focus for|of|is|today|: ...
        step|number|item|thing one|1 $
        top|bottom|head of|on|in my|our|the|your list|agenda|queue|backlog
        come|comes|go|goes|and|, .. at the very? end|last $
        next up
        i|we need this|it|that|these|the .. today|tonight|tomorrow|now|soon|friday|monday|asap
        after that|those ~is|was|has|are|we|i|you ...
        i want|need|like|would .. you to? ... before the|a|any *
        without .. nobody|nothing|no|we can not?
        has|have no|low|top|high priority
        -s everything|all $|,
        most $ !! at|the most $ ; almost
        hurts|hurt|affects|worries|bothers|annoys us|me|users|customers|everybody|people
        out of the way
        can|may|could sit|rest|slide|stay|lie
        in|following this|that|the|exactly sequence|order
        ^ ~what|which|who|at|why|how ... ~at first $ !! who|which|what|whether|at ... first ; the first ; look|looks first ; why ; -est first
        time-sensitive|stop-the-line|importance|showstopper
        expires|expire|due|deadline today|tonight|tomorrow|friday|soon|on|this
        can not ... while|without *
        only|mostly care|cares about
        on fire
        when|whenever you have|get|find time
        then .. the rest
        ^^ not now
        ^^ that can|must|goes|comes to? the? top|wait|later|first
        must|needs|has|have|be|want|get|need|come|comes|go|goes|is|are ... before|until ~and|long|that|it * !! i|it|that|you have|has never|ever|not ; worked|working|seen|happened|called|runs|run|call|calls ; as|like|day|week before ; before ... again ; if ; =id until ; is|are it before
        ^ @deed ... before *
        before you|we|any|anything|everything|all|starting|touching|doing ... !! ^^ what|why|how|is|run|check ; before you leave|commit|push|run|start $ ; long before
        not|nothing|nobody|never|no|hold|wait ... until|before|unless * !! never seen|had|heard ; why|if
        only after|once|when .. @done
        priority|priorities|precedence !! by priority ; priority|priorities field|column|queue|inversion|enum|level|property|value|dropdown|attribute|label|class|selector ; operator|css|of precedence|precedence ; what|which is|are
        prioritise|deprioritise
        urgent|emergency|time-critical|hurry !! not|if|nothing|no|isn urgent|hurry ; what|is it urgent
        p0|p1|p2|p3|sev1|sev-1
        blocker|blockers|blocking|bottleneck|prerequisite !! blocking call|io|queue|read|mode|one|ones ; non not|no|anything|if|why|what|which|whether ... blocking|blocker ; understand
        is|are|still|currently|what? blocking|blocks me|us|the|our|everybody|everything|all|qa|release|deploy|half|two|three|a !! if|what|anything|whether ; blocks|blocking the thread|loop|ui|event|call|main|request
        are|am|is|team blocked|stuck|held by|on|until|up|$|, !! process|thread|loop|job|test|pod|build|it|query|request|page|cursor|sync|download|upload|app is|are stuck|blocked ; by the? proxy|cors|firewall|lock ; if
        holding|holds us|me|everybody|everything|team|release|the|back up|back|release
        outranks|trumps|outweighs|precedes *
        beats the|a|any|all|every|-s
        goes|go|comes|come in front
        goes|go|to the bottom|front|top|back $|of
        is|: the? one i|we care|worry about
        critical path
        number|top|highest|lowest one|priority|priorities|importance !! number one two
        our|the|my|is|are number one
        can|must|should|may|will wait|slip|come later|last|after|afterwards|until|$|for|, !! i|we|you can wait ; wait for|until the? page|server|promise|element|process
        everything|rest|else else|all? waits|wait|later|afterwards|after|second|comes|must|can
        waits|waiting for|on the|a|it|this|that|you|us !! thread|process|socket|lock|code|test|promise waits|waiting
        nice-to-have|back-burner|low-priority|must-have
        is|are a must
        back burner
        comes|come|goes|go|is|are first|second|later|last|afterwards|next !! what|which|who|when|why|whether ; first|second|last -s|column|line|item|of ; is|are first|second|last|next ~,|on|to|in
        top|bottom|front|end|back of the list|queue|backlog|pile|line
        drop|stop|pause everything|whatever|all|what
        nothing else matters|until|before|counts
        most|more|less|least important|urgent|pressing|critical|importantly|so !! theorem|if|what|which|chapter
        not|is|are that|so|very|too? important|urgent|pressing|critical ~section|to $ !! is|are it|this|that ; what|if
        what|which|all|that matters|counts|worries ... !! no matter ; does it
        matters|counts|worries me? by? far? the? most|more|now
        care|cares|worry|worried about .. more|most|less|least
        care|cares more|most|less about
        focus|concentrate on|only !! focus on the? input|field|button|element
        it|this|today|week|is all about
        our|my|main|the focus is
        @quality over|before|first|beats *
        ^^ ~i|you|it * *? *? now , ... later|after|afterwards|next|tomorrow
        ^ first|1st the|a|all|get|do|fix|finish|make|we|ship|close|things ... , ... !! first the? @code
        ^ you|we|i|must|let's|should? @deed|write|take|make|merge|add|build|start ... first !! first @code|-s|time|version|draft|page|step|pass|match|paragraph|test|column|name|commit ; which|who|what|why|whether ; at first ; first then? run|show|tell
        in|following|this|that|exactly|strictly this|that|the following? order !! alphabetical|sort|reverse|tab|byte|wrong|insertion
        ... , and? then and? only? then|finally|after
        only then
        until|while ... , no|nothing|do|nobody|keep|leave|only|everything|all not?
        slides|slide|slips|slip|moves|move|falls behind|back|after|down|up
        @deed|needs|must|be|is|are .. by|until|for|due tonight|tomorrow|today|monday|tuesday|wednesday|thursday|friday|noon|eod|deadline !! by friday night?
        deadline|due|launch|release|demo|freeze|closes is|on|tomorrow|today|friday|thursday|monday|the ... !! due to ; what|which|when ; is the? =id ; on the? demo
        ^^ ~i|you|it .. depends|depend|hinges on the|this|that|it !! what|how|if ; function|module|package|class|code|value|result|it
        can|could|will not .. without the|this|that|it !! why|how ; with javascript
        without it|this|that , nothing|nobody|we|i
        for later $
        once|when|after ... , not earlier|before|sooner
        ^ ~i|you|we|it * *? *? *? later $ !! is|are|was|be|see|talk|until|sooner|come|ask|answer|or -ed? later
        more|most urgent|pressing|important
        forget|ignore|leave|stop ... for a|the|now|this|until few|week|day|days|while|moment|weeks , *
    """),
    "value": _rules("""
        branch|channel|bucket|cluster|queue|topic|host|service|account|repo|package|image|namespace|project|tenant|environment is|called|named|: =dash
        branch|channel|bucket|cluster|queue|topic|namespace|tenant|workspace =dash
        accepts|allows|supports|permits|handles|limit|limited|capped at|up|to? most|least|to? =num
        ^^ use .. =id as|for|when|whenever|in the|all|every|a|testing|now
        @named called|named *
        carry|carries|have|has|get|gets|use|with the|a? prefix|suffix|tag|label|name *
        @named .. is|are|sits|lives .. ( =id|=path
        @named|it is|are|lives|sits in|under|at =id|=path
        everything|we|work|commits .. on|to|from|onto the|our * branch
        has|with|under|got|gave|by uid|id|key|code|number|serial|uuid =id|*
        runs|run|running on a|an *? * =num ...
        @named =id !! ^^ @task ; you -ed ; =id -s|fails ; in|of|from|on|to the? @named =id ; test|function|class|file =id
        tag|name|call|label .. like|as =id
        published|registered|known|listed|tagged|filed as *
        show|shows up as =id
        @named *? *? *? =num $|seconds|minutes|hours|days|ms|mb|gb|kb|percent|%|px|utc|, !! @named -ed? =num ago|times|commits ; i|you|it ; from|of|by =num ; takes|took|since
        @named : * $
        ~@prep|@counted|: * =num $|and|or|for|with|,  !! @counted =num ; @prep =num ; ^^ @task ; i|you|it|option ; =num times|more|ago ; page|pages|test|tests|bug|bugs|passed|failed|skipped|about|over|under|until|every|than|by|only
        =url !! ^^ see|look|read|open|check|here|got|fetch|download|from|summarise ; @fail ; i get|got|see|found|saw
        at|behind|under =id ... !! look|error|bug|line|crash|stop
        write|writes|reads|read|exports|goes|saves|uploads to|from|into =id !! ^^ write|read|i|you|it ; you -ed
        log|logs|login in? as *
        reach|reachable|find ... at|in|under =id|=num|=path !! ^^ find ; =num -s
        @named .. is|are|be|stays|called|named|=|:|has|was at|on|in|to|as|called|named|the|now|set|under|name? name? =id
        lives|live|sits|runs|listens|reachable|available|hosted|found|served|published|stored|logs|saved|posts|releases|release|deploy|work at|on|in|under|as|to|from|behind|off the|branch? branch? =id|=path
        @named .. is|are|be|stays|=|:|to about|exactly|at|to|now|set|pinned|number|version|on? least|most|to? =num !! @fail ; =num lines|times|rows|tests|files|errors|commits|users|failures|characters
        @named =id ,|$|is|are|for|and|with|use
        @named =num is|are|for|, ... !! line|column
        is|are|be|called|named|as|at|under|via|from|use|= =id ... !! use|from|as =id for|in|to|instead ; what|where|why
        =id is|are|holds|means|= the|our|my|a|where|for *
        =id = * !! if|why
        = =num|=id|true|false|on|off
        on|at|listens|uses|use|: port =num !! @fail
        port =num is|for|to
        gpio|pin|channel|bus|slot|register|address|lane|relay|line =num is|are|for|drives|controls
        at least *? =num !! least =num -s
        pinned|pin to|at|on *? =num
        with|on|use|uses|run|runs|need|needs|require|requires|stay|target|targets|compiles|at * *? =ver !! @fail ; ^^ i|it|this|that ; takes|took|about
        : =id ,|$|:|—|( !! ^^ @task
        * =num , * *? =num , =num|*
        called|named =id
        is|are called|named ~twice|once|before|after|from|by|in|when|with|on|at|every|again|first|only|to|and|here|there|a|the|not * $ !! what|why|if
        name|flag|branch|bucket|id|codename|tag|prefix|contact|account|slug|login|org|contract|owner|key|handle|tenant|region|namespace|username|queue|topic|workspace .. is|be|: ~a|the|not|wrong|to|in|on|missing|too|empty|null|still|what|=num * $ !! what|why|how|which ; is|be -ed
        you|we will? need|want ... : * ... =id|=num
        work|stay|commit|push|base|rebase|everything|target|release|releases|deploy|branch on|to|from|onto|against|off the? branch? =id|=path !! why|what
        set =id|* to =id|=num|true|false|on|off
        ^ use =id|=num ,|$|from|as|whenever|when|until|and !! instead|not
        timezone|locale|currency|encoding|region .. :|is|= *
    """),
}
# Makes a label something else, whatever rule fits.
UNLESS: dict[str, Rules] = {
    "correction": _rules("""
        ^^ find|check|see|tell|show|explain
    """),
    "decision": _rules("""
        we ~pick|go|take|use|stick|choose|keep * .. at|under|as|like|to|from|on|in =id|=path|=url
        why|whether
    """),
    "architecture": _rules("""
        plan is
        for this release|pr|version|sprint|demo|prototype
    """),
    "priority": _rules("""
        ^^ explain|summarise
    """),
    "value": _rules("""
        look|check|open *
        no * called|named
        @fail
        does|do|did|can not
        line =num
        p0|p1|p2|p3
        would
        ^ every|all|each
        must run|work|support
    """),
}
# What stands even in a task: a rule that lasts, an order that is meant, a wish put right.
FIRM: dict[str, Rules] = {
    "correction": _rules("""
        i meant|asked|said|wanted
        is|are ... , not
        ^^ use|put|make|have|let ... not *
        you have|are? @past|-ed
        instead|wrong|but
    """),
    "decision": _rules("""
        let's
        ^ we
        : no|yes
        not worth
    """),
    "architecture": _rules("""
        henceforth|everywhere|throughout|anywhere|nowhere|always|never|forbidden|banned
        in|as our|everything|usual -s|we|in
        in|on this|our @here
        must
        no|not * .. tools|floats|dependencies|dependency
    """),
    "priority": _rules("""
        before you|we|anything|everything|any|all|starting
        can|must wait
        urgent|blocking|p0|deadline
        top|highest|high|low|lowest|is|has priority
        rest is|are|can
        on hold|ice
        most important
        rest .. wait|waits|later|after|second
        first $
        order
        list|queue
        this|do before
        matters
    """),
    "value": _rules("""
        ^^ set|put|commit|post|plan|test|send|work .. =id|to|on|at ... =id|=num !! ^^ * a|the
        remember|always|every
    """),
}
