"""A list of equivalents with mistakes: one entry is right, one is about a line that is no longer so, one about a mutant that is killed."""

TILL = "tests.mutants.planted.till"
EQUIVALENT = {
    (TILL, "larger", "if one > two:", "`one > two` → `one >= two`"): "equal numbers are the same number",
    (TILL, "larger", "if one < two:", "`one < two` → `one <= two`"): "the line was changed since",
    (TILL, "Till.sell", "self.sales += 1", "`1` → `2`"): "it is killed",
}
