"""The local session: what it must have room for."""


def test_a_short_session_has_room_for_the_code_of_many_queries(spark):
    pools = spark._jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    assert sum(pool.getUsage().getMax() for pool in pools if "Code" in pool.getName()) >= 200 * 2**20
