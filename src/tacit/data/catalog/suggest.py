"""Suggestions for a catalog from names and declared types alone: no value is read, so a suggestion cannot depend on a row.

A suggestion is a declaration as `tacit.toml` writes it, with `"?"` where names say nothing: bounds of a salary, the values of a
status. The data owner confirms each one. Ranges are those of the thing that a name means (months, hours, ISO codes), never a number
from the data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from unicodedata import normalize

from tacit.data.catalog.columns import MOST_DIGITS
from tacit.data.declaration import PLACEHOLDER, folded
from tacit.data.dialect import Nature
from tacit.data.files.kinds import Field, Found
from tacit.data.files.raw import Raw

Declaration = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A declaration to confirm, its reason, and a description; without a declaration the column is left out."""

    declaration: Declaration | None
    why: str
    about: str = ""

    @property
    def is_open(self) -> bool:
        """Whether a place is left to fill in."""
        return self.declaration is not None and PLACEHOLDER in self.declaration.values()


NUMBER: Declaration = {"bounds": PLACEHOLDER}
LIST: Declaration = {"values": PLACEHOLDER}
DATE: Declaration = {"type": "date", "bounds": PLACEHOLDER}
TEXT: Declaration = {"keys": "private"}
KEY: Declaration = {"key": True}
PRESENT: Declaration = {}
TRUTH: Declaration = {"values": [False, True]}

BY_TYPE: Mapping[Nature, Declaration] = {
    "integer": NUMBER,
    "wide": NUMBER,
    "double": {"bounds": PLACEHOLDER, "step": PLACEHOLDER},
    "truth": TRUTH,
    "day": DATE,
    "moment": DATE,
}
NUMBERS: tuple[Nature, ...] = ("integer", "wide", "double", "decimal")

COUNTRIES = (  # ISO 3166-1 alpha-2
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG "
    "CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL "
    "GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA "
    "LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP "
    "NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV "
    "SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"
)
CURRENCIES = (  # ISO 4217, circulating
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP CRC "
    "CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK "
    "JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR "
    "MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP "
    "STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG"
)
STATES = (  # of the United States, with the capital's district
    "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD "
    "TN TX UT VT VA WA WV WI WY"
)


def _listed(codes: str) -> Declaration:
    return {"values": codes.split(), "unknown": "other"}


def _from(low: object, high: object, step: str = "") -> Declaration:
    return {"bounds": [low, high]} | ({"step": Decimal(step)} if step else {})


DAYS: Declaration = {"type": "date", "bounds": ["1900-01-01", "2099-12-31"]}
BY_NAME: tuple[tuple[str, Declaration | None], ...] = (  # the first that fits the words of a name, joined by _
    (
        r"(e_?)?mail|phone|telephone|telefon|mobile|handy|fax|surname|(first|last|full|middle|family)name|nachname|vorname|ssn|iban",
        None,
    ),
    (
        r"(first|last|full|middle|family)_name|(e_)?mail_address|street(_.*)?|strasse|(home|street)_?address|adresse|passport(_.*)?",
        None,
    ),
    (r"name|address|ip(_address)?|password|passwort", None),
    (r"(date_of_)?birth(day|date|_date)?|dob|geburtsdatum|geburtstag|.*date|.*datum|date_.*|datum_.*|.*_(at|on)|timestamp", DAYS),
    (r"(.*_)?(year|yr|jahr|yob|geburtsjahr|baujahr)(_.*)?|yearbuilt|annee", _from(1900, 2100)),
    (r"(.*_)?(month|monat|mois|mes)(_nr|_no|_number)?", _from(1, 12)),
    (r"(.*_)?quarter|quartal", _from(1, 4)),
    (r"hours_?per_?week|wochenstunden", _from(0, 168)),
    (r"(.*_)?week(_nr|_no|_number)?|kw|kalenderwoche", _from(1, 53)),
    (r"weekday|wochentag|dow|day_?of_?week", _from(1, 7)),
    (r"day_?of_?month|dom|monatstag", _from(1, 31)),
    (r"day_?of_?year", _from(1, 366)),
    (r"(.*_)?(hour|stunde)", _from(0, 23)),
    (r"(.*_)?(minute|second|sekunde)", _from(0, 59)),
    (r"(.*_)?(age|agep|alter|lebensalter|edad|age_years)", _from(0, 120)),
    (r"(.*_)?(sex|gender|geschlecht|sexe|sexo)", {"values": ["F", "M"], "unknown": "other"}),
    (r"(is|has|was|ist|hat)_.*|.*_(flag|yn)|flag|active|aktiv|deleted", TRUTH),
    (r"(.*_)?(percent|percentage|pct|prozent)", _from(0, 100)),
    (r"(.*_)?(lat|latitude|breitengrad)", _from(-90, 90, "0.01")),
    (r"(.*_)?(lon|lng|long|longitude|laengengrad)", _from(-180, 180, "0.01")),
    (r"(.*_)?(bmi)", _from(5, 100, "0.1")),
    (r"height_cm|(koerper)?groesse(_cm)?|heightcm", _from(30, 250)),
    (r"weight_kg|gewicht(_kg)?|weightkg", _from(0, 400)),
    (r"pulse|heart_?rate|puls", _from(0, 300)),
    (r"(.*_)?(country|land|staat|nationality|country_code|countrycode|laendercode|iso2)", _listed(COUNTRIES)),
    (r"(.*_)?(currency|waehrung|currency_code|currencycode)", _listed(CURRENCIES)),
    (r"(us_)?state(_code)?", _listed(STATES)),
    (
        r"(.*_)?(zip|zipcode|zip_code|postcode|post_code|postal_code|plz|postleitzahl|city|town|stadt|ort|wohnort|municipality)",
        TEXT,
    ),
    (r"(.*_)?(diagnosis|diagnose|icd|icd_?10|product|occupation|beruf|employer)", TEXT),
    (r"(.*_)?(note|notes|comment|comments|remark|remarks|bemerkung|description|freetext)", PRESENT),
    (
        r"(.*_)?(income|salary|wage|gehalt|einkommen|lohn|cost|costs|kosten|price|preis|amount|betrag|revenue|umsatz|total|balance)",
        NUMBER,
    ),
    (
        r"(.*_)?(count|number|anzahl|quantity|menge|qty|score|rating|weight|gewicht|height|hours|stunden|days|tage|rate)|(n|num)_.*",
        NUMBER,
    ),
    (r"(.*_)?(type|kind|status|category|class|level|group|art|typ|stufe|klasse|kategorie|region|ward|department|abteilung)", LIST),
    (r"(.*_)?(education|bildung|marital|familienstand|race|ethnicity|relationship|severity|stage)(_.*)?", LIST),
)
WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})


def words_of(name: str) -> str:
    """The words of a name in lower case, joined by _.

    >>> words_of("birthYear"), words_of("MONTH"), words_of("Größe (cm)"), words_of("patient-ID")
    ('birth_year', 'month', 'groesse_cm', 'patient_id')
    """
    plain = normalize("NFKD", normalize("NFC", name).translate(UMLAUTS)).encode("ascii", "ignore").decode()
    return "_".join(word.lower() for word in WORDS.findall(plain))


def by_name(name: str) -> Suggestion | None:
    """The suggestion that a name gives; None if it says nothing.

    >>> by_name("MONTH").declaration, by_name("e-mail").declaration, by_name("x17")
    ({'bounds': [1, 12]}, None, None)
    """
    words = words_of(name)
    for pattern, declared in BY_NAME:
        if re.fullmatch(pattern, words):
            return Suggestion(declared, "by its name" if declared is not None else "by its name it identifies people")
    return None


def sounds_like_a_key(name: str) -> bool:
    """Whether a name ends like the name of an identifier.

    >>> sounds_like_a_key("patientId"), sounds_like_a_key("PATIENT_ID"), sounds_like_a_key("paid")
    (True, True, False)
    """
    return words_of(name).rsplit("_", 1)[-1] in ("id", "uuid", "key", "nr", "guid") and words_of(name) not in ("nr", "month_nr")


def by_type(field: Field) -> Suggestion | None:
    """The suggestion of a declared type, key, constraint or enumeration; None for text and for a column without a type."""
    if field.type is None:
        return None
    raw, about = Raw("", field.type), " ".join(field.comment.split())
    if raw.nature == "nested":
        return Suggestion(None, "nested values cannot be asked about")
    if field.key:
        return Suggestion(KEY, "by its primary key", about)
    if field.values:
        return Suggestion({"values": list(field.values), **({"unknown": "drop"} if field.required else {})}, "as declared", about)
    declared = _by_digits(raw) if raw.nature == "decimal" else BY_TYPE.get(raw.nature)
    if declared is None or "bounds" not in declared:
        return None if declared is None else Suggestion(declared, "by its type", about)
    bounds = {} if field.bounds is None else {"bounds": list(field.bounds)}
    nulls = {"nulls": "drop"} if field.required else {}
    return Suggestion({**declared, **bounds, **nulls}, "as declared" if bounds else "by its type", about)


def _by_digits(raw: Raw) -> Declaration:
    scale = raw.digits[1]
    step = {"step": Decimal(1).scaleb(-scale) if scale <= MOST_DIGITS else PLACEHOLDER}
    return {"bounds": PLACEHOLDER} | (step if scale else {})


def suggest_column(table: Found, field: Field, unit: object = None) -> Suggestion:
    """The suggestion for one column of a table, from its name and its declared type; `unit` is what the owner said of the rows."""
    own, typed, named = folded(field.name), by_type(field), by_name(field.name)
    if typed is not None and typed.declaration is None:
        return typed
    if typed is not None and (field.key or not typed.is_open) and (field.key or field.values or field.bounds):
        return typed
    if isinstance(unit, Mapping) and folded(str(unit.get("column"))) == own:
        return Suggestion(PRESENT, "it names the unit and may be counted")
    if sounds_like_a_key(field.name):
        is_key = own == own_key(table)
        return Suggestion(KEY, "by its name") if is_key else Suggestion(None, "by its name it refers to another table")
    about = typed.about if typed else " ".join(field.comment.split())
    if named is not None and agrees(named.declaration, field):
        nulls = {"nulls": "drop"} if field.required and named.declaration and "bounds" in named.declaration else {}
        return replace(named, about=about, declaration=None if named.declaration is None else {**named.declaration, **nulls})
    return typed or Suggestion(None, "", about)


def agrees(declaration: Declaration | None, field: Field) -> bool:
    """Whether a declaration is possible for the declared type of a column."""
    if declaration is None or by_type(field) is None:
        return True
    nature = Raw("", field.type or "").nature
    if nature in NUMBERS:
        return "bounds" in declaration and "type" not in declaration and PLACEHOLDER not in declaration.values()
    return (nature in ("day", "moment")) == (declaration.get("type") == "date") and nature != "truth"


# --- keys and references -----------------------------------------------------------------------------------------------------


def own_key(table: Found) -> str | None:
    """The column that probably identifies the rows of a table: id, or patient_id in patients.

    >>> own_key(Found("patients", "", (Field("Patient_ID"), Field("ward_id"))))
    'patient_id'
    """
    declared = [folded(field.name) for field in table.fields if field.key]
    if declared:
        return declared[0]
    names = {words_of(field.name): folded(field.name) for field in table.fields}
    nouns = _singular(words_of(table.name))
    wanted = ("id", "uuid", "key", *(f"{noun}_{ending}" for noun in nouns for ending in ("id", "uuid", "key", "nr")))
    return next((names[name] for name in wanted if name in names), None)


def _singular(words: str) -> tuple[str, ...]:
    """A table name and its likely singular forms."""
    forms = [words, words.removesuffix("s"), words.removesuffix("es"), words.removesuffix("en")]
    return tuple(dict.fromkeys([*forms, words.removesuffix("ies") + "y"]))


def references(table: Found, tables: Sequence[Found]) -> Iterator[tuple[str, str, str]]:
    """Columns that refer to another table as declared, or probably by their names: the column, that table and its key.

    >>> patients, visits = Found("patients", "", (Field("id"),)), Found("visits", "", (Field("patient_id"),))
    >>> list(references(visits, [patients, visits]))
    [('patient_id', 'patients', 'id')]
    """
    for field in table.fields:
        if field.references and any(folded(other.name) == folded(field.references[0]) and other is not table for other in tables):
            yield folded(field.name), folded(field.references[0]), folded(field.references[1])
            continue
        words = words_of(field.name)
        for other in tables:
            key = own_key(other)
            if other is table or key is None or not sounds_like_a_key(field.name):
                continue
            if words.rsplit("_", 1)[0] in _singular(words_of(other.name)) or (words == words_of(key) and "_" in words):
                yield folded(field.name), folded(other.name), key


PEOPLE = (
    r"(person|patient|user|customer|client|member|student|employee|worker|subject|participant|respondent|kunde|kunden|person(en)?)"
)


def suggest_unit(table: Found, tables: Sequence[Found]) -> object:
    """The likely unit of the rows by names alone: a reference to another table, a column about people, or None."""
    for column, other, key in references(table, tables):
        return {"column": column, "references": f"{other}.{key}"}
    own = own_key(table)
    for field in table.fields:
        people = re.fullmatch(rf"{PEOPLE}(_?(id|nr|uuid|key|number|nummer))", words_of(field.name))
        if people and folded(field.name) != own:
            return {"column": folded(field.name)}
    return "row" if own is not None and re.fullmatch(PEOPLE, _singular(words_of(table.name))[1]) else None
