"""Mutants of the pure rules and of the codec that no test can notice, each with the reason: most are short cuts."""

from __future__ import annotations

from collections.abc import Mapping

Key = tuple[str, str, str, str]


def _of(module: str, place: str, line: str, reason: str, *changes: str) -> dict[Key, str]:
    """Return the entries of these *changes* of one line."""
    return {(f"sedano.model.{module}", place, line, change): reason for change in changes}


RULES: Mapping[Key, str] = {
    **_of(
        "messages.strict_json",
        "load",
        "text = body if isinstance(body, str) and body.isascii() and len(body) <= most_bytes else _text(body, most_bytes, where)",
        "a short cut for text that is ASCII and short enough as it is",
        (
            "`body if isinstance(body, str) and body.isasci … st_bytes) else _text(body, most_bytes, where)` → `_text(body, "
            "most_bytes, where)`"
        ),
        "`len(body) <= most_bytes` → `len(body) < most_bytes`",
    ),
    **_of(
        "messages.strict_json",
        "load",
        'if text.count("[") + text.count("{") > most_depth and _depth(text) > most_depth:',
        "a short cut: text with so few brackets nests no deeper, which the exact count finds too",
        "`text.count('[') + text.count('{') > most_depth and _depth(text) > most_depth` → `_depth(text) > most_depth`",
        "`text.count('[') + text.count('{') > most_depth` → `text.count('[') + text.count('{') >= most_depth`",
    ),
    **_of(
        "messages.strict_json",
        "load",
        "if end != len(text) and text[end:].strip(_SPACE):",
        "a short cut for text that ends with its value",
        "`end != len(text) and text[end:].strip(_SPACE)` → `text[end:].strip(_SPACE)`",
    ),
    **_of(
        "messages.strict_json",
        "load",
        'if "\\\\u" in text and _HALF(_PAIRS(" ", text.replace("\\\\\\\\", " "))):',
        "a short cut for text without escapes",
        "`'\\\\u' in text and _HALF(_PAIRS(' ', text.replace('\\\\\\\\', ' ')))` → `_HALF(_PAIRS(' ', text.replace('\\\\\\\\', ' ')))`",
    ),
    **_of(
        "messages.strict_json",
        "scan_rest",
        'scan = _SCAN if text.count(":", start) > 1 else _SCAN_ONE_KEY',
        "a short cut: with one colon there is no key to repeat, and the scanner that looks for repeated keys finds none",
        "`_SCAN if text.count(':', start) > 1 else _SCAN_ONE_KEY` → `_SCAN`",
        "`text.count(':', start) > 1` → `text.count(':', start) >= 1`",
        "`1` → `0`",
    ),
    **_of(
        "messages.strict_json",
        "holds_long_digits",
        "for place in range(MAX_DIGITS, len(text), MAX_DIGITS + 1):",
        "more places, or more digits behind one, are looked at than are needed: what is found are digits in a row all the same",
        "`MAX_DIGITS + 1` → `MAX_DIGITS - 1`",
        "`1` → `0`",
    ),
    **_of(
        "messages.strict_json",
        "holds_long_digits",
        "if text[place] in _DIGITS:",
        "more places, or more digits behind one, are looked at than are needed: what is found are digits in a row all the same",
        "`if text[place] in _DIGITS` → `if True`",
    ),
    **_of(
        "messages.strict_json",
        "holds_long_digits",
        "before, after = text[place - MAX_DIGITS : place], text[place : place + MAX_DIGITS + 1]",
        "more places, or more digits behind one, are looked at than are needed: what is found are digits in a row all the same",
        "`1` → `2`",
    ),
    **_of(
        "messages.strict_json",
        "_scan_now",
        "return (_SCAN_COUNTING if holds_long_digits(text) else _SCAN)(text, 0)",
        "a short cut: where no integer is long, the scanner that counts digits refuses none",
        "`_SCAN_COUNTING if holds_long_digits(text) else _SCAN` → `_SCAN_COUNTING`",
    ),
    **_of(
        "messages.strict_json",
        "_object",
        "if not pairs:",
        "a short cut for empty objects",
        "`if not pairs` → `if False`",
    ),
    **_of(
        "messages.strict_json",
        "_depth",
        'if b"\\\\" in marks:',
        "a short cut for text without backslashes, or without quotes: then there is nothing to remove",
        "`if b'\\\\' in marks` → `if True`",
    ),
    **_of(
        "messages.strict_json",
        "_depth",
        "if b'\"' in marks:",
        "a short cut for text without backslashes, or without quotes: then there is nothing to remove",
        "`if b'\"' in marks` → `if True`",
    ),
    **_of(
        "messages.strict_json",
        "_depth",
        'marks = marks.translate(_ROUND, _NOT_MARKS).replace(b\'""\', b"")',
        "a short cut: pairs of quotes move no bracket into a string or out of one, whether they are removed or added",
        "`marks.translate(_ROUND, _NOT_MARKS).replace(b'\"\"', b'')` → `marks.translate(_ROUND, _NOT_MARKS).replace(b'', b'\"\"')`",
    ),
    **_of(
        "messages.strict_json",
        "_highest",
        'if len(marks) > 8 * marks.count(b"[]"):',
        "two ways to the same number: run by run is faster for long runs, step by step for short ones",
        "`if len(marks) > 8 * marks.count(b'[]')` → `if False`",
        "`8` → `9`",
        "`8` → `7`",
    ),
    **_of(
        "seals.seal",
        "refusal",
        "if not hmac.compare_digest(_sealed(key, kid, issued, expires, whom, body).encode(), signature.encode()):",
        "texts are compared in the same way from both sides",
        (
            "`hmac.compare_digest(_sealed(key, kid, issued, … es, whom, body).encode(), signature.encode())` → "
            "`hmac.compare_digest(signature.encode(), _seal … , kid, issued, expires, whom, body).encode())`"
        ),
    ),
    **_of(
        "seals.seal",
        "is_marked",
        "return key is not None and hmac.compare_digest(_marked(key, kind, found[1], parts).encode(), found[2].encode())",
        "texts are compared in the same way from both sides",
        (
            "`hmac.compare_digest(_marked(key, kind, found[1], parts).encode(), found[2].encode())` → "
            "`hmac.compare_digest(found[2].encode(), _marked(key, kind, found[1], parts).encode())`"
        ),
    ),
    **_of(
        "sources.signature_schemes",
        "compared",
        "equal = [hmac.compare_digest(utf8(one), right) for one in given for right in expected]",
        "texts are compared in the same way from both sides",
        "`hmac.compare_digest(utf8(one), right)` → `hmac.compare_digest(right, utf8(one))`",
    ),
    **_of(
        "sources.signature_schemes",
        "Stripe.refusal",
        'said = utf8(times[0]) + b"." + body',
        "there is exactly one time: the last is the first",
        "`0` → `-1`",
    ),
    **_of(
        "sources.signature_schemes",
        "Stripe.refusal",
        "return _late(times[0], now, self.tolerance) or compared(found, [_hex(utf8(secret), said) for secret in secrets])",
        "there is exactly one time: the last is the first",
        "`0` → `-1`",
    ),
    **_of(
        "ledger.dedup_keys",
        "keyed_by",
        'return named if named and named == payload(command.task_id, command.args, command.kwargs, command.data_ref) else ""',
        "a short cut for most commands: no payload is empty",
        (
            "`named and named == payload(command.task_id, c … mmand.args, command.kwargs, command.data_ref)` → `named == "
            "payload(command.task_id, command.args, command.kwargs, command.data_ref)`"
        ),
    ),
    **_of(
        "budgets",
        "scaled",
        "grown = level.limit + load.waiting if increases == 1 else ceil(level.limit * 2.0 ** min(budget.exponent * increases, 30.0))",
        "twice as much 29 times is more than the most that any budget allows",
        "`30.0` → `31.0`",
        "`30.0` → `29.0`",
    ),
    **_of(
        "connection_breaker",
        "pause_after",
        "return float(min(LONGEST_S, SHORTEST_S * 2.0 ** min(trips - 1, 10)))",
        "twice as much nine times is more than the longest pause",
        "`10` → `11`",
        "`10` → `9`",
    ),
    **_of(
        "messages.attributes",
        "_clock",
        "clock = int(value) if type(value) is str and _is_clock(value) else -1",
        "any number below 0 is refused",
        "`1` → `2`",
    ),
    **_of(
        "messages.attributes",
        "call",
        'if len(value) == ("args" in value):',
        "a short cut for arguments without keywords",
        "`if len(value) == ('args' in value)` → `if False`",
    ),
    **_of(
        "messages.decoder",
        "decode",
        "plain = canonical.read(body) if isinstance(body, str) else None",
        "a short cut for usual commands, which the general decoder reads as the same",
        "`canonical.read(body) if isinstance(body, str) else None` → `None`",
    ),
    **_of(
        "messages.decoder",
        "decode",
        "if plain is not None:",
        "a short cut for usual commands, which the general decoder reads as the same",
        "`if plain is not None` → `if False`",
    ),
    **_of(
        "messages.decoder",
        "decode",
        'raise MessageRefused(refusals.SCHEMA, missing.args[0], "is missing") from None',
        "a KeyError has one argument: the last is the first",
        "`0` → `-1`",
    ),
    **_of(
        "messages.decoder",
        "_command",
        "more = {} if _PLAIN.issuperset(found) else _special(found)",
        "a short cut for plain commands: what is not given is at its default",
        "`{} if _PLAIN.issuperset(found) else _special(found)` → `_special(found)`",
    ),
    **_of(
        "messages.decoder",
        "_sent",
        '"lineage": ROOT if lineage == ROOT else lineage,',
        "equal values; that it is the same one is a short cut for the encoder",
        "`ROOT if lineage == ROOT else lineage` → `lineage`",
    ),
    **_of(
        "messages.encoder",
        "_stamps",
        "if time and 0 < clock <= wire.MAX_CLOCK:",
        "a short cut for most messages, whose clock needs no check",
        "`if time and 0 < clock <= wire.MAX_CLOCK` → `if False`",
        "`0 < clock <= wire.MAX_CLOCK` → `0 < clock < wire.MAX_CLOCK`",
        "`0` → `1`",
    ),
    **_of(
        "messages.encoder",
        "_sent",
        'text = "" if message.lineage is ROOT else _ancestry(message.lineage)',
        "a short cut for root messages: each part of their lineage is at its default",
        "`'' if message.lineage is ROOT else _ancestry(message.lineage)` → `_ancestry(message.lineage)`",
    ),
    **_of(
        "messages.encoder",
        "_call",
        'text = dump(args if isinstance(args, list | tuple) else list(args), "data.args", room) if args else ""',
        "a short cut: a copy is written in the same way",
        "`args if isinstance(args, list | tuple) else list(args)` → `list(args)`",
    ),
    **_of(
        "messages.encoder",
        "_call",
        'named = dump(kwargs if isinstance(kwargs, dict) else dict(kwargs), "data.kwargs", room)',
        "a short cut: a copy is written in the same way",
        "`kwargs if isinstance(kwargs, dict) else dict(kwargs)` → `dict(kwargs)`",
    ),
    **_of(
        "messages.encoder",
        "_fields",
        'return dump(fields if isinstance(fields, dict) else dict(fields), "data", wire.MAX_DATA_DEPTH)',
        "a short cut: a copy is written in the same way",
        "`fields if isinstance(fields, dict) else dict(fields)` → `dict(fields)`",
    ),
    **_of(
        "messages.fast_decoder",
        "read",
        "if root_id is None and join_id is None and canvas[0] is None:",
        "a short cut for root commands, which leaves at its default what it does not name",
        "`if root_id is None and join_id is None and (canvas[0] is None)` → `if False`",
    ),
    **_of(
        "messages.fast_decoder",
        "read",
        "if root_id is None and join_id is None and canvas[0] is None:",
        "the three parts of a place are given together or not at all",
        "`0` → `1`",
        "`0` → `-1`",
    ),
    **_of(
        "messages.fast_decoder",
        "read",
        "if canvas[0] is not None:",
        "the three parts of a place are given together or not at all",
        "`0` → `1`",
        "`0` → `-1`",
    ),
    **_of(
        "messages.fast_decoder",
        "read",
        (
            "lineage = ROOT if root_id is None else Lineage(root_id, parent_id, int(hops or 0), DEFAULT_BUDGET if budget is None else "
            "int(budget))"
        ),
        "equal values; that it is the same one is a short cut for the encoder",
        (
            "`ROOT if root_id is None else Lineage(root_id, … LT_BUDGET if budget is None else int(budget))` → `Lineage(root_id, "
            "parent_id, int(hops or 0), D … LT_BUDGET if budget is None else int(budget))`"
        ),
    ),
    **_of(
        "messages.plain_json",
        "dump",
        'if "{" in text or "\\\\ud" in text or (len(text) > most_depth and _needs_a_look(text, most_depth)):',
        "a short cut: the walk finds nothing wrong with text that needs no look",
        "`if '{' in text or '\\\\ud' in text or (len(text) > … st_depth and _needs_a_look(text, most_depth))` → `if True`",
        "`len(text) > most_depth and _needs_a_look(text, most_depth)` → `len(text) > most_depth or _needs_a_look(text, most_depth)`",
        "`len(text) > most_depth and _needs_a_look(text, most_depth)` → `_needs_a_look(text, most_depth)`",
        "`len(text) > most_depth and _needs_a_look(text, most_depth)` → `len(text) > most_depth`",
        "`len(text) > most_depth` → `len(text) >= most_depth`",
    ),
    **_of(
        "messages.plain_json",
        "_needs_a_look",
        'return text.count("[") > most_depth or (len(text) > MAX_DIGITS and holds_long_digits(text))',
        "a short cut: the walk finds nothing wrong with text that needs no look",
        "`text.count('[') > most_depth` → `text.count('[') >= most_depth`",
        "`len(text) > MAX_DIGITS and holds_long_digits(text)` → `len(text) > MAX_DIGITS or holds_long_digits(text)`",
        "`len(text) > MAX_DIGITS and holds_long_digits(text)` → `holds_long_digits(text)`",
        "`len(text) > MAX_DIGITS and holds_long_digits(text)` → `len(text) > MAX_DIGITS`",
        "`len(text) > MAX_DIGITS` → `len(text) >= MAX_DIGITS`",
    ),
    **_of(
        "messages.plain_json",
        "_encode",
        'return "".join(_encode_chunks(value, 0))',
        "the level of indentation, of text that is not indented",
        "`0` → `1`",
        "`0` → `-1`",
    ),
    **_of(
        "messages.plain_json",
        "_check_number",
        "if isinstance(value, int) and not -_TOO_LONG < value < _TOO_LONG:",
        "every finite float lies between the two",
        "`isinstance(value, int) and (not -_TOO_LONG < value < _TOO_LONG)` → `not -_TOO_LONG < value < _TOO_LONG`",
    ),
    **_of(
        "messages.timestamps",
        "read",
        'if len(text) == 27 and text[19] == "." and text[26] == "Z" and text.isascii() and text[20:26].isdigit():',
        "a short cut for times as they are written, which is taken for none then; the general way reads them as the same",
        "`if len(text) == 27 and text[19] == '.' and (text …  and text.isascii() and text[20:26].isdigit()` → `if False`",
        "`27` → `28`",
        "`19` → `20`",
        "`19` → `18`",
        "`26` → `25`",
        "`20` → `19`",
        "`26` → `27` (2)",
    ),
    **_of(
        "messages.lamport",
        "adjust",
        "far, most = (other - now_us) / 1e6, MAX_AHEAD_US / 1e6",
        "five minutes are 300 s, rounded to a second",
        "`1000000.0` → `1000001.0` (2)",
        "`1000000.0` → `999999.0` (2)",
    ),
    **_of(
        "messages.strict_json",
        "_highest",
        "return max(map(sub, accumulate(runs[::2]), chain((0,), accumulate(runs[1::2]))), default=0)",
        "there is a run: the marks are longer than nothing",
        "`0` → `1` (2)",
        "`0` → `-1` (2)",
    ),
    **_of(
        "canvas.page_reader",
        "_item",
        "table, check = _KINDS[kinds[0]]",
        "there is exactly one kind: the last is the first",
        "`0` → `-1`",
    ),
}
