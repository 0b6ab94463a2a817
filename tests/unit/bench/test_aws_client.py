"""The slim client costs a fraction of boto3's CPU and makes as many calls: measured at a small size, on any machine."""

from benchmarks import aws_client


def test_a_claim_and_a_batch_cost_at_most_a_fifth_of_boto3s_cpu_and_one_request_each() -> None:
    found = aws_client.section(lambda: None, calls=100, rounds=3)
    assert [entry.name for entry in found.entries if entry.verdict == "MISSED"] == []
    assert [entry.value for entry in found.entries if entry.name.startswith("requests a call")] == [1.0, 1.0]
    assert len([entry for entry in found.entries if entry.verdict == "met"]) == 4
