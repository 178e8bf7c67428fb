"""How the tests of this folder end: their faults, how many things they looked at, and a status."""


def close(faults, looked_at, things, least=1000):
    """Prints the faults; True where there are any. So few things that the test cannot have found its files end it."""
    print("\n".join([*faults, f"{looked_at} {things}, {len(faults)} faults"]))
    if looked_at < least:
        raise SystemExit(f"so few {things}: is this test out of date?")
    return bool(faults)
