"""Words that people and tool descriptions use for the same thing.

A question seldom has the words of the tool that answers it: people fly, tools search flights; people buy, tools create
orders. Each line is a group of such words. They only add to the words of the question itself, at a lower weight.
"""

from __future__ import annotations

import re
from functools import cache

from brim.meter.words import terms

_GROUPS = """
get find search list show retrieve fetch look lookup query view display see check read tell give
create add new make insert register write record log open start save store put
update change modify edit set rename replace adjust correct move call
delete remove cancel drop erase clear withdraw revoke undo stop unsubscribe
send email mail message notify post share text sms chat reply
buy order purchase shop pay checkout cart supermarket grocery store item product
price cost fee charge money expensive cheap worth amount bill invoice budget afford
weather temperature forecast rain warm cold hot umbrella sunny wind climate snow
flight fly plane airline airport ticket travel trip
hotel room stay accommodation lodging night booking book reserve reservation
restaurant food eat dinner lunch cuisine meal dine cafe hungry table
train bus taxi cab ride car drive vehicle transport
calendar event appointment meeting schedule reminder happening weekend going
news headline article story press latest
stock share ticker market invest investor holding portfolio own fund
currency exchange convert conversion dollar euro yen pound usd eur
translate translation language say mean english chinese spanish french
distance far route direction map near nearby closest location place where city
time clock date when day timezone hour duration long
calculate compute solve equation formula math sum
area size large big surface shape triangle circle volume
speed fast velocity quick accelerate acceleration
weight heavy mass kilo overweight bmi body height
user account profile person customer member name avatar login
server machine host computer node instance running
file document folder directory path disk
image photo picture colour color camera
music song tune melody track piano guitar chord scale key bar
player team match game score goal season soccer football basketball statistic league
vulnerability security hole attack exploit injection scan xss
project application app module repository repo library component
gene genetic dna mutation sequence base species molecule protein cell
house home property estate apartment rent
president leader white election government
war battle conflict history historical began
population people growth more animal wildlife species
predict forecast estimate expect future will next
movie film cinema theatre watch series
ticket issue bug task case support
error fail fault problem crash exception broken
code program function script command run execute
loan mortgage interest bank compound savings invest grow
health doctor patient medical dentist hospital
job work employee salary hire company
percent rate ratio share increase
revenue sales earn income profit money purchase
satisfied satisfaction happy rating review feedback like star favourite
version release update patch upgrade
rule policy violation badge break comply
analyze inspect examine assess evaluate check
structure building tower floor level
similar similarity alike compare difference same
summary summarize short brief
password secret token key authentication
contact phone call number address
package parcel delivery shipping track
probability likely chance odds random distribution binomial outcome coin dice toss
average mean median deviation variance spread statistic standard
divide divisor divisible factor multiple prime greatest common number
root zero solution quadratic polynomial solve
crime criminal convict offence offense court law legal lawsuit judge arrest record
award achievement win won prize title medal career honour honor champion
publish publication paper book author journal release article come issue
school university college degree education study graduate student course pupil grade mark
concert show opera theatre theater play perform band live gig event seat ticket
recipe cook ingredient dish meal bake oven stove kitchen
thermostat temperature heat cool heating cooling conditioner ac warm oven degree
device light lamp switch turn home smart
chess rating rank ranking elo strong player level
present value worth bond annuity payment future yield discount
invest fund gain return growth yearly annual rate period
mole molar molecular atom chemical compound element formula
elevation high height altitude tall mountain park big large
sentiment positive negative tone opinion emotion classify
model neural network train training learning classifier predict
browser request header cookie http url web website link page
owner own belong property land parcel deed
friend contact person tell let inform know share location
visit museum tower monument attraction landmark sight opening hour
instrument violin piano guitar drum
inventory stock shelf available availability supply
list folder directory content inside file
"""

_GENERAL = frozenset(terms("think plan todo finish submit handoff escalate human memory remember recall"))
"""Words in the names of tools that an agent may need in any conversation, whatever it is about."""
_GENERAL_ALONE = frozenset(terms("calculate calculator compute search help answer respond done stop wait clock"))
"""Words that are such a name if nothing else stands beside them."""

_ASKED = {
    "who": "person user name",
    "whose": "owner person",
    "when": "date time year",
    "where": "location place address",
    "how many": "count number total",
    "how much": "price cost amount",
    "how long": "duration time",
    "how far": "distance",
    "how likely": "probability",
    "how old": "age date",
}
"""What questions ask for. Their first words are too common to be terms."""
_QUESTIONS = tuple((re.compile(rf"\b{start}\b"), words) for start, words in _ASKED.items())
_SIGNS = (
    (re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++\.\w"), "email address user contact"),
    (re.compile(r"https?://|www\."), "url link website page"),
    (re.compile(r"(?<!\w)[~.]?/\w+(?:/\w+)*|\b\w+\.(?:txt|csv|json|py|md|pdf|log)\b"), "file path directory"),
    (re.compile(r"\d\s*%|\bpercent"), "percent rate interest"),
    (re.compile(r"[$€£¥]\s*\d|\d\s*(?:dollars|euros|usd|eur)\b", re.IGNORECASE), "amount money price currency"),
    (re.compile(r"\b(?:1[5-9]|20)\d\d\b"), "year date"),
    (re.compile(r"\b\d{1,2}:\d\d\b"), "time hour"),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b"), "ip address host"),
    (re.compile(r"(?<!\d)-?\d++\.\d++\s*+,\s*+-?\d++\.\d"), "latitude longitude coordinates location"),
)
"""What texts of a certain form are."""


def related(text: str) -> str:
    """Return the words that mean the same as words of a text, and those for what it asks and contains, once each."""
    groups, had = _groups(), terms(text)
    found = {word: None for term in had for group in groups.get(term, ()) for word in group}
    spoken = " ".join(text.casefold().split())
    asked = [words for question, words in _QUESTIONS if question.search(spoken)]
    signs = [words for sign, words in _SIGNS if sign.search(text)]
    found |= dict.fromkeys(terms(" ".join([*asked, *signs])))
    return " ".join(word for word in found if word not in had)


def is_general(named: frozenset[str]) -> bool:
    """Return whether a tool with these terms in its name may be needed whatever a conversation is about."""
    return bool(named and (named & _GENERAL or named <= _GENERAL_ALONE))


@cache
def _groups() -> dict[str, list[tuple[str, ...]]]:
    """Return the groups that each term is in."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for line in _GROUPS.strip().splitlines():
        group = tuple(dict.fromkeys(terms(line)))
        for term in group:
            found.setdefault(term, []).append(group)
    return found
