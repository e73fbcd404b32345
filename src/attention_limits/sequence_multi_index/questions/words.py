"""Words and sentences of the question grammar: slots in braces are replaced by one of the alternatives of that name.

A frame of a class is `fine label: sentence`. The nouns that decide a class as the head of a question ("which river ...") also
occur in the side clauses of all classes, so that no single word determines the class.
"""

WORDS = {
    "city_noun": "city town village port harbour district suburb settlement",
    "land_noun": "country state province kingdom region island continent county colony republic territory",
    "nature_noun": "river mountain lake desert valley sea bay forest canyon volcano glacier strait peninsula",
    "site_noun": "street square museum stadium prison airport university park palace temple castle library",
    "person_noun": (
        "president king queen author singer painter actor actress inventor explorer general poet chemist physicist composer "
        "architect astronaut emperor senator pilot boxer sculptor journalist dancer surgeon admiral philosopher mayor bishop "
        "governor runner captain detective lawyer banker teacher sailor"
    ),
    "group_noun": "company team band orchestra party tribe army union newspaper airline bank publisher club",
    "entity_noun": (
        "animal food colour language currency sport instrument disease plant book film game drink metal vehicle song religion "
        "weapon bird fish insect tree flower fruit dance vitamin gem poem opera novel medicine chemical ship dog cheese"
    ),
    "number_noun": "year date age population length weight height speed temperature price distance percentage number depth",
    "thing": (
        "bridge clock engine tower violin candle mirror compass telescope microscope camera piano bicycle umbrella ladder "
        "hammer wheel bottle lamp kettle anchor button needle pencil printer radio rocket saddle scissors shovel spoon stove "
        "submarine sword telephone thermometer tractor tunnel typewriter wagon whistle zipper elevator battery magnet lens "
        "parachute balloon locomotive loom plough sail pump valve furnace turbine"
    ),
    "animals": (
        "bees wolves spiders whales owls bats camels horses frogs ants penguins snakes rabbits elephants crows salmon dolphins "
        "turtles monkeys mice cats goats swans squirrels foxes bears eagles lizards otters moths"
    ),
    "substance": (
        "salt copper gold silver iron coal oil sugar rice coffee tea cotton wool rubber glass paper cement tin mercury sulphur "
        "wheat butter milk honey pepper tobacco silk leather marble sand ice steam"
    ),
    "concept": (
        "inflation gravity democracy photosynthesis erosion friction magnetism evolution jazz poetry osmosis "
        "taxation capitalism feudalism insurance irony metaphor hypnosis insomnia radiation humidity relativity "
        "fermentation electricity recession impressionism diplomacy algebra geometry perspective migraine asthma malaria "
        "influenza measles pneumonia diabetes allergy fever scurvy arthritis"
    ),
    "made": (
        "built invented designed discovered painted founded copied sold smuggled destroyed bought repaired owned described "
        "named"
    ),
    "did": "visited ruled left conquered mapped loved defended betrayed crossed won lost governed rebuilt abandoned",
    "act": "sleep swim sing hibernate migrate hunt dance fight hide communicate breathe glow fly climb sneeze shiver",
    "event": (
        "war flood fire earthquake treaty election festival strike revolution coronation famine eclipse expedition siege race "
        "exhibition trial wedding storm plague"
    ),
    "ordinal": "first second third fourth fifth last next youngest oldest",
    "superlative": "largest smallest oldest longest highest richest coldest deepest busiest strangest",
    "adjective": "great old small famous new lost secret red golden northern southern ancient modern broken hidden royal wooden",
    "measure": "population area length height depth altitude rainfall income speed",
    "ask": "what what which",
    "unit": "people miles kilograms dollars hours children votes islands steps rooms languages players soldiers cars books moons",
    "how_adjective": "long far tall old deep fast heavy wide hot often large",
    "month": "January March April June July September October December",
}
# Alternatives of several words, in addition to the words of the same name.
PHRASES = {
    "concept": ["nuclear energy", "acid rain", "gross domestic product"],
    "act": ["change colour", "build nests", "find their way home"],
    "superlative": ["most famous", "most expensive", "best known"],
    "measure": ["average temperature", "annual income"],
    "name": ["name the", "tell me the", "what is the name of the", "what was the", "which was the"],
    "institution": [
        "national bureau of {substance}", "union of {person_noun}s", "society for {concept}", "bank of {place}",
        "{place} broadcasting service", "international league for {concept}", "office of {thing} safety",
        "world {entity_noun} association", "central {substance} exchange", "royal academy of {concept}",
    ],
    "place_noun": ["{city_noun}", "{land_noun}", "{nature_noun}", "{site_noun}"],
    "human_noun": ["{person_noun}", "{person_noun}", "{person_noun}", "{group_noun}"],
    "noun": ["{place_noun}", "{human_noun}", "{entity_noun}", "{thing}"],
    "someone": ["{person}", "the {person_noun} {person}", "the {person_noun} of {place}", "the {adjective} {group_noun}"],
    "somewhere": ["{place}", "{place}", "the {place_noun} of {place}", "the {adjective} {place_noun}", "{place} , {place}"],
    "somewhen": [
        "in {number}", "in {month} {number}", "before the {event} of {place}", "after the {event}", "during the {event}",
    ],
    "side": [
        "", "", "", "{somewhen}", "in {somewhere}", "near the {place_noun} where {person} was born",
        "owned by the {human_noun} of {place}", "in the {number_noun} of the {event}", "with the {adjective} {entity_noun}",
        "called {place}", "that {made} the {thing}", "on the way to {place}", "of the {person_noun} {person}",
        "because of the {event}", "for the {entity_noun} of {place}",
    ],
    # Both sides of this relation can be the head of a question: only the word order determines which one is the head.
    "relation": [
        "is named after the", "is shown beside the", "was older than the", "is mistaken for the", "was compared with the",
        "is remembered together with the",
    ],
}  # fmt: skip

FRAMES = {
    "ABBR": [
        "exp: what does {acronym} stand for {side}",
        "exp: what is {acronym}",
        "exp: what does the acronym {acronym} mean",
        "exp: what is the full form of {acronym}",
        "abb: what is the abbreviation for the {institution}",
        "abb: how is the {institution} abbreviated",
        "abb: which letters stand for the {institution}",
        "abb: what is the short form of {institution}",
        "exp: what does the {acronym} in the name of the {group_noun} {company} mean",
    ],
    "DESC": [
        "def: what is a {thing}",
        "def: what is {concept}",
        "def: what does the word {thing} mean",
        "def: what is meant by the {adjective} {noun}",
        "def: what was the {event} of {place}",
        "def: define {concept}",
        "manner: how does a {thing} work",
        "manner: how do {animals} {act} {side}",
        "manner: how did {someone} die {side}",
        "manner: how was the {adjective} {thing} {made} {side}",
        "manner: how is {substance} made in {place}",
        "manner: how do you make a {thing} from {substance}",
        "manner: how did the {event} of {place} end",
        "reason: why do {animals} {act}",
        "reason: why did {someone} leave {somewhere}",
        "reason: why was the {noun} of {place} {made}",
        "reason: what caused the {event} {somewhen}",
        "reason: what causes {concept}",
        "reason: why was {person} called the {person_noun}",
        "reason: what made {someone} famous",
        "desc: what is the difference between a {noun} and a {noun}",
        "desc: what is the origin of the name {place}",
        "desc: what is the history of the {noun} {side}",
        "desc: what was the purpose of the {thing} {side}",
        "desc: what are the effects of {concept} on {animals}",
        "desc: what did {someone} do {somewhen}",
        "desc: what happened to the {noun} of {place} {side}",
        "desc: what is {person} known for",
        "desc: which role did {someone} play in the {event}",
    ],
    "ENTY": [
        "{entity_noun}: {ask} {entity_noun} {relation} {noun} {side}",
        "{entity_noun}: {ask} {entity_noun} was {made} by {someone}",
        "{entity_noun}: {ask} {entity_noun} comes from {somewhere}",
        "{entity_noun}: in which {entity_noun} does {person} appear",
        "{entity_noun}: {name} {superlative} {entity_noun} {side}",
        "{entity_noun}: what is the {entity_noun} of {somewhere}",
        "{entity_noun}: what kind of {entity_noun} did {someone} own {side}",
        "{entity_noun}: what is the {superlative} {entity_noun} in {somewhere}",
        "food: what do {animals} eat {side}",
        "cremat: what was {person} 's {ordinal} {entity_noun}",
        "product: what did {someone} invent {side}",
        "product: what {thing} was {made} in {place}",
        "termeq: what is another word for {thing}",
        "termeq: how do you say {thing} in the language of {place}",
        "termeq: what is the {place} word for {noun}",
        "substance: what is a {thing} made of",
        "substance: what did {place} export {somewhen}",
        "other: what was stolen from the {site_noun} in {place}",
        "other: what is the symbol of the {human_noun} of {place}",
        "animal: which {animals} {act} {side}",
        "event: what {event} took place in {somewhere} {side}",
        "other: what did {person} give to {someone}",
        "dismed: what did the {person_noun} {person} suffer from {side}",
    ],
    "HUM": [
        "ind: who {made} the {thing} {side}",
        "ind: who {did} {somewhere} {side}",
        "ind: who was the {ordinal} {person_noun} of {place}",
        "ind: {ask} {human_noun} {relation} {noun} {side}",
        "ind: {name} {person_noun} who {made} the {noun} {side}",
        "ind: {name} {superlative} {person_noun} {side}",
        "ind: what {person_noun} {did} {place} {somewhen}",
        "ind: what was the real name of the {person_noun} {person}",
        "ind: who killed {someone} {side}",
        "ind: whose {thing} was found in {somewhere}",
        "ind: which {person_noun} was born in the {place_noun} of {place}",
        "ind: who is the author of the {entity_noun} about {place}",
        "ind: what is the name of {person} 's {person_noun}",
        "gr: {name} {group_noun} that {made} the {thing} {side}",
        "gr: which {group_noun} did {person} play for {somewhen}",
        "gr: what {group_noun} is based in {somewhere}",
        "gr: who won the {event} {somewhen}",
        "gr: for what {group_noun} did {person} work",
        "desc: who is {person}",
        "desc: who was the {person_noun} {person}",
        "title: what was {person} 's profession {side}",
        "gr: who are the members of the {acronym}",
        "ind: who founded the {acronym} {side}",
    ],
    "LOC": [
        "{city_noun}: {ask} {city_noun} {relation} {noun} {side}",
        "other: {ask} {nature_noun} {relation} {noun} {side}",
        "city: what is the capital of {place}",
        "{city_noun}: in what {city_noun} did {someone} live {side}",
        "country: {name} {land_noun} that {did} {place} {side}",
        "country: which {land_noun} has the {superlative} {noun}",
        "country: from which {land_noun} does the {entity_noun} come",
        "country: what {land_noun} was {person} born in",
        "mount: {name} {superlative} {nature_noun} in {somewhere}",
        "other: {name} {superlative} {place_noun} {side}",
        "other: where is the {noun} of {place}",
        "other: where did {someone} die {side}",
        "other: where was the {thing} {made} {side}",
        "other: where do {animals} {act}",
        "other: where can one see the {adjective} {noun}",
        "other: what {nature_noun} lies between {place} and {place}",
        "other: on which {site_noun} is the {thing} of {place}",
        "other: what is the location of the {site_noun} {side}",
        "other: where does the {human_noun} {person} come from",
        "state: what {land_noun} did {person} rule {somewhen}",
        "other: where is the seat of the {acronym}",
    ],
    "NUM": [
        "count: how many {unit} are there in {somewhere}",
        "count: how many {unit} did {someone} own {side}",
        "count: what is the number of {unit} in {somewhere}",
        "date: when was the {noun} {made} {side}",
        "date: when did {someone} die",
        "date: when is the {event} of {place}",
        "date: in what year was {person} born",
        "date: what year did the {event} of {place} begin",
        "date: on which day was the {thing} {made}",
        "date: what was the date of the {event} {side}",
        "date: {name} year in which {person} {did} {place}",
        "dist: how far is {place} from {place}",
        "other: how {how_adjective} is the {noun} of {place}",
        "other: how {how_adjective} is a {thing} {side}",
        "money: how much does a {thing} cost {side}",
        "money: what was the price of {substance} {somewhen}",
        "money: how much did {someone} pay for the {entity_noun}",
        "other: what is the {measure} of the {place_noun} {place}",
        "other: what is the {measure} of {somewhere}",
        "perc: what percentage of {unit} in {place} are {made} by {animals}",
        "period: how long did the {event} last {side}",
        "period: for how many years did {person} stay in {somewhere}",
        "weight: what does a {thing} weigh",
        "temp: at what temperature does {substance} melt",
        "speed: what is the speed of a {thing} {side}",
        "age: what was {person} 's age {somewhen}",
        "date: when was the {acronym} founded",
    ],
}
