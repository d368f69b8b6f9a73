import LatchkeyReplication
import LatchkeyStore
import Testing

@testable import LatchkeyReplicas

/// Whether a replica that began with an empty folder joins a log that others continue.
@Suite struct LifeWatchTests {
    private typealias Record = ClusterDirectory.Record

    private static let position = LogPosition(place: LogPlace(9), revision: 7)

    private static func record(
        _ time: Int64,
        _ state: String = "serving",
        place: UInt64 = 9,
        revision: Revision = 7
    ) -> Record {
        Record(url: "", place: place, revision: revision, state: state, time: time)
    }

    /// The verdict after these records of another replica, a nanosecond after each other.
    private static func verdict(
        _ said: [Record],
        of identity: String = "2"
    ) -> LifeWatch.Verdict? {
        var watch = LifeWatch("1", at: 0)
        return said.indices.map {
            watch.hears([identity: said[$0]], position, at: UInt64($0))
        }.last
    }

    @Test func `no life begins where another replica serves and says something again`() {
        #expect(Self.verdict([Self.record(5)]) == .waits)
        #expect(Self.verdict([Self.record(5), Self.record(5)]) == .waits)
        #expect(Self.verdict([Self.record(5), Self.record(5), Self.record(6)]) == .goesOn)
        // Its files can be behind.
        let behind = Self.record(6, place: 0, revision: 0)
        #expect(Self.verdict([behind, Self.record(7, place: 3)]) == .goesOn)
        // Its clock was set back.
        #expect(Self.verdict([Self.record(5), Self.record(4)]) == .goesOn)
    }

    @Test func `one that does not serve, or has more than the log, does not go on with it`() {
        for state in ["catching-up", "connecting", "diverged", "too-late", "stale", "draining"] {
            #expect(Self.verdict([Self.record(5), Self.record(6, state)]) == .waits, "\(state)")
        }
        #expect(Self.verdict([Self.record(5), Self.record(6, place: 10)]) == .waits)
        #expect(Self.verdict([Self.record(5), Self.record(6, revision: 8)]) == .waits)
        // It was catching up when it was heard of first.
        #expect(Self.verdict([Self.record(5, "catching-up"), Self.record(6)]) == .goesOn)
    }

    @Test func `a life begins where there is no other replica`() {
        var watch = LifeWatch("1", at: 0)
        #expect(watch.hears([:], Self.position, at: 0) == .begins)
        #expect(Self.verdict([Self.record(5), Self.record(6)], of: "1") == .begins)
        // The place of a state that was to be taken, by this one or another one.
        #expect(Self.verdict([Self.record(5, "seeding")]) == .begins)
    }

    @Test func `a life begins where the others say nothing for two intervals`() {
        var watch = LifeWatch("1", at: 100)
        let last = 100 + LifeWatch.nanosecondsMax
        let gone = ["2": Self.record(5), "3": Self.record(6, "catching-up")]
        #expect(watch.hears(gone, Self.position, at: 100) == .waits)
        #expect(watch.hears(gone, Self.position, at: last) == .waits)
        #expect(watch.hears(gone, Self.position, at: last + 1) == .begins)
        // One replica that began meanwhile is enough.
        var joined = gone
        joined["3"] = Self.record(7)
        #expect(watch.hears(joined, Self.position, at: last + 1) == .goesOn)
    }

    @Test func `a record is written each 5 s, and when there is a first place`() {
        var schedule = RecordSchedule()
        let places = (0..<250).map { LogPlace($0 < 30 ? 0 : UInt64($0)) }
        let due = places.indices.filter { index in schedule.isDue { places[index] } }
        #expect(due == [0, 30, 100, 200])
    }

    @Test func `a record is written each second while a disk is full, and when its own changes`() {
        var schedule = RecordSchedule()
        // Another disk is full from 105 on, and this one from 131 to 165.
        let due = (1..<300).filter { tick in
            schedule.isDue(isFull: 131..<165 ~= tick, isAnyFull: 105..<190 ~= tick) {
                LogPlace(UInt64(tick) / 250)
            }
        }
        #expect(due == [1, 101, 121, 131, 141, 161, 165, 181, 201, 250])
    }
}
