import CLatchkeySystem
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyContention

/// Profiles: which places wait for which.
@Suite(.timeLimit(.minutes(15))) struct Profiles {
    /// An access that another one has to wait for, on one thread, which submits them.
    private static func oneWait(
        _ probe: ContentionProbe,
        holder: CallSite = CallSite("Shop/Holder.swift", 1),
        waiter: CallSite = CallSite("Shop/Waiter.swift", 2)
    ) {
        var inside = probe.asks(AccessRequest(.write, at: holder))
        probe.enters(&inside)
        var waiting = probe.asks(AccessRequest(.write, at: waiter, isSubmitted: true))
        probe.isBlocked(&waiting)
        probe.leaves(inside)
        probe.enters(&waiting)
        probe.leaves(waiting)
    }

    private static func probe(_ profile: ContentionProfile) -> ContentionProbe {
        let strategy = SerialQueueAsyncStrategy.self
        let meter = ContentionMeter(strategy, level: .counts, profile: profile)
        return ContentionProbe(meter, traits: strategy.traits)
    }

    @Test func `names both places`() throws {
        let profile = ContentionProfile(oneIn: 1)
        Self.oneWait(Self.probe(profile))
        let site = try #require(profile.sites.first)
        #expect(profile.sites.count == 1)
        #expect(site.holder == "Shop/Holder.swift:1")
        #expect(site.waiter == "Shop/Waiter.swift:2")
        #expect(site.strategy == "serial-queue-async")
        #expect(site.count == 1)
        #expect(site.delay > .zero)
        #expect(profile.lostCount == 0)
    }

    @Test func `has the places that the access functions were called at`() throws {
        let profile = ContentionProfile(oneIn: 1)
        let locks = ContentionMeter(LockStrategy.self, lock: "a", level: .sampled, profile: profile)
        let value = Synchronized(0, strategy: locks.metered(LockStrategy()))
        let inside = Gate()
        let leave = Gate()
        let holderLine = #line + 2
        let holder = TestThread {
            value.write { _ in
                inside.open()
                leave.pass()
            }
        }
        #expect(inside.pass())
        let waiterLine = #line + 1
        let waiter = TestThread { _ = value.read { $0 } }
        while locks.reading.waiters == 0 { latchkey_system_yield() }
        leave.open()
        #expect(holder.join() && waiter.join())
        let site = try #require(profile.sites.first)
        #expect(site.lock == "a")
        #expect(site.holder == "LatchkeyContentionTests/ProfileTests.swift:\(holderLine)")
        #expect(site.waiter == "LatchkeyContentionTests/ProfileTests.swift:\(waiterLine)")
        let sample = try #require(profile.reading().samples.first)
        #expect(sample.mode == .read)
        let symbols = Symbols(of: sample.holder.addresses)
        let names = sample.holder.relevant(symbols).compactMap { symbols[$0]?.name }
        #expect(names.contains { $0.hasPrefix("LatchkeyContentionTests.Profiles") }, "\(names)")
    }

    @Test func `counts what it draws for those that it does not`() {
        let profile = ContentionProfile(oneIn: 20)
        let probe = Self.probe(profile)
        let count = 40_000
        for _ in 0..<count {
            var waiting = probe.asks(AccessRequest(.write, at: CallSite()))
            probe.isBlocked(&waiting)
            probe.enters(&waiting)
            probe.leaves(waiting)
        }
        let counted = profile.sites.reduce(0) { $0 + $1.count }
        #expect(counted.isMultiple(of: 20))
        // 2000 draws: their number has a standard deviation of 26.
        #expect((36_000...44_000).contains(Int(counted)))
    }

    @Test func `starts again at a mark`() {
        let profile = ContentionProfile(oneIn: 1)
        let probe = Self.probe(profile)
        Self.oneWait(probe)
        let mark = profile.mark()
        #expect(profile.reading(since: mark).samples.isEmpty)
        Self.oneWait(probe)
        Self.oneWait(probe)
        #expect(profile.reading(since: mark).sites.map(\.count) == [2])
        #expect(profile.sites.map(\.count) == [3])
    }

    @Test func `that is full counts what it loses`() {
        let profile = ContentionProfile(oneIn: 1, capacity: 4) { 0 }
        let probe = Self.probe(profile)
        // The second time there is still room for the pairs that it has.
        for time in 1...2 as ClosedRange<UInt64> {
            for line in 1...10 as ClosedRange<UInt> {
                Self.oneWait(probe, waiter: CallSite("Shop/Waiter.swift", line))
            }
            #expect(profile.sites.map(\.count) == [time, time, time, time])
            #expect(profile.lostCount == 6 * time)
        }
    }

    @Test func `has room for so many waits at once`() {
        let profile = ContentionProfile(oneIn: 1)
        let probe = Self.probe(profile)
        var entries = (0...ProfileWaits.countMax).map { _ in
            var entry = probe.asks(AccessRequest(.write, at: CallSite()))
            probe.isBlocked(&entry)
            return entry
        }
        #expect(profile.lostCount == 1)
        for index in entries.indices {
            probe.enters(&entries[index])
            probe.leaves(entries[index])
        }
        #expect(profile.sites.reduce(0) { $0 + $1.count } == UInt64(ProfileWaits.countMax))
        Self.oneWait(probe)
        #expect(profile.lostCount == 1)
    }

    @Test func `has waits that were given up`() throws {
        let profile = ContentionProfile(oneIn: 1)
        let meter = ContentionMeter(AdaptiveStrategy.self, level: .counts, profile: profile)
        let value = Synchronized(0, strategy: meter.metered(AdaptiveStrategy()))
        @Sendable func never(_ value: Int) -> Bool { false }
        #expect(value.write(when: never, deadline: .now) { $0 } == nil)
        #expect(profile.sites.map(\.count) == [1])
        #expect(profile.lostCount == 0)
    }

    @Test func `does not blame a reader for another one`() {
        let profile = ContentionProfile(oneIn: 1)
        let traits = ReadWriteLockStrategy.traits
        let meter = ContentionMeter(ReadWriteLockStrategy.self, level: .counts, profile: profile)
        let probe = ContentionProbe(meter, traits: traits)
        for mode in AccessMode.allCases {
            var inside = probe.asks(AccessRequest(.read, at: CallSite("Shop/Reader.swift", 1)))
            probe.enters(&inside)
            let site = mode == .read ? CallSite("Shop/R", 2) : CallSite("Shop/W", 2)
            var waiting = probe.asks(AccessRequest(mode, at: site))
            probe.isBlocked(&waiting)
            probe.leaves(inside)
            probe.enters(&waiting)
            probe.leaves(waiting)
        }
        let holders = profile.sites.map { [$0.waiter, $0.holder] }.sorted { $0[0] < $1[0] }
        #expect(holders == [["Shop/R:2", "(unknown)"], ["Shop/W:2", "Shop/Reader.swift:1"]])
    }

    @Test func `that is not wanted costs no word of a slot`() {
        let meter = ContentionMeter(LockStrategy.self, level: .counts)
        let probe = ContentionProbe(meter, traits: LockStrategy.traits)
        var waiting = probe.asks(AccessRequest(.write))
        probe.isBlocked(&waiting)
        #expect(waiting.timing.profiledWait == nil)
        probe.enters(&waiting)
        probe.leaves(waiting)
    }
}
