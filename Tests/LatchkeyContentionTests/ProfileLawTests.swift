import CLatchkeySystem
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyContention

/// The promises of every strategy's profile, with threads that contend.
@Suite(.timeLimit(.minutes(15)), .serialized, .offPool) struct ProfileLaws {
    private static let exact = StrategyKind.allCases.filter { $0 != .mutex && $0 != .actor }

    @Test(arguments: exact)
    func `each contended access is recorded or lost`(kind: StrategyKind) {
        let found = kind.accept(Contends())
        #expect(found.recorded + found.lost == found.contended)
        #expect(found.recorded > 0 || found.contended == found.lost)
    }

    @Test(arguments: [StrategyKind.lock, .adaptive, .serialQueue, .readWriteLock, .mutex])
    func `the slow holder is blamed, and not those that wait with others for it`(
        kind: StrategyKind
    ) {
        let sites = kind.accept(OneIsSlow())
        let all = sites.reduce(Duration.zero) { $0 + $1.delay }
        let slow = sites.filter { $0.holder == OneIsSlow.slowSite }
            .reduce(Duration.zero) { $0 + $1.delay }
        #expect(sites.first?.holder == OneIsSlow.slowSite)
        #expect(slow > all / 2, "\(sites)")
    }
}

/// Four threads write to one value, and all contended accesses are recorded.
private struct Contends: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> (contended: UInt64, recorded: UInt64, lost: UInt64) {
        preconditionFailure("\(strategy.name) has no blocking access functions.")
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> (contended: UInt64, recorded: UInt64, lost: UInt64) {
        let profile = ContentionProfile(oneIn: 1)
        let meter = ContentionMeter(strategy, level: .sampled, profile: profile)
        let value = Synchronized(0, strategy: meter.metered(ChosenStrategy()))
        let isOver = TestThread.run(4) { index in
            for round in 0..<2000 {
                if (round + index).isMultiple(of: 4) {
                    _ = value.read { $0 }
                } else {
                    value.write { $0 += 1 }
                }
                if round.isMultiple(of: 64) { latchkey_system_yield() }
            }
        }
        precondition(isOver, "The threads end.")
        let recorded = profile.reading().samples.reduce(0) { $0 + $1.count }
        let reading = meter.reading
        return (reading.read.contended + reading.write.contended, recorded, profile.lostCount)
    }
}

/// One thread holds the lock for long, again and again, while three others wait to hold it shortly.
///
/// A clock that only the holders move measures what is long and short.
private struct OneIsSlow: StrategyVisitor {
    static let slowSite = "Shop/Slow.swift:1"

    func visit<ChosenStrategy: MakeableStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> [ContentionSite] {
        preconditionFailure("\(strategy.name) has no blocking access functions.")
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> [ContentionSite] {
        let time = Guarded<UInt64>(1)
        let profile = ContentionProfile(oneIn: 1) { time.value }
        let meter = ContentionMeter(strategy, level: .full, profile: profile)
        let value = Synchronized(0, strategy: meter.metered(ChosenStrategy()))
        for _ in 0..<10 {
            let waiters = value.write(fileID: "Shop/Slow.swift", line: 1) { _ in
                let waiters = (1...3).map { index in
                    TestThread {
                        value.write(fileID: "Shop/Fast.swift", line: UInt(index)) { _ in
                            time.write { $0 += 1 }
                        }
                    }
                }
                precondition(eventually { meter.reading.waiters == 3 }, "The threads wait.")
                time.write { $0 += 1_000 }
                return waiters
            }
            precondition(waiters.allSatisfy { $0.join() }, "The threads end.")
        }
        return profile.sites
    }
}
