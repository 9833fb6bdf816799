"""Words that people and tool descriptions use for the same thing.

A question seldom has the words of the tool that answers it: people fly, tools search flights; people buy, tools create
orders. Each line is a group of such words. They only add to the words of the question itself, at a lower weight.
"""

from __future__ import annotations

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
"""


def related(text: str) -> str:
    """Return the words that mean the same as words of a text, once each."""
    groups, had = _groups(), terms(text)
    found = {word: None for term in had for group in groups.get(term, ()) for word in group}
    return " ".join(word for word in found if word not in had)


@cache
def _groups() -> dict[str, list[tuple[str, ...]]]:
    """Return the groups that each term is in."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for line in _GROUPS.strip().splitlines():
        group = tuple(dict.fromkeys(terms(line)))
        for term in group:
            found.setdefault(term, []).append(group)
    return found
