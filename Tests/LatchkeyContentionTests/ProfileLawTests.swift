import CLatchkeySystem
import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyContention

/// What every strategy's profile promises, with threads that contend.
@Suite(.timeLimit(.minutes(5)), .serialized) struct ProfileLaws {
    private static let exact = StrategyKind.allCases.filter { $0 != .mutex && $0 != .actor }

    @Test(arguments: exact)
    func `each contended access is recorded or lost`(kind: StrategyKind) async throws {
        let found = await offPool { kind.accept(Contends()) }
        #expect(found.recorded + found.lost == found.contended)
        #expect(found.recorded > 0 || found.contended == found.lost)
    }

    // Not those whose waiters spin: beside other programs they wait for a processor most of all.
    @Test(arguments: [StrategyKind.lock, .adaptive, .serialQueue, .readWriteLock, .mutex])
    func `the slow holder is blamed, and not those that wait with others for it`(
        kind: StrategyKind
    ) async throws {
        let sites = await offPool { kind.accept(OneIsSlow()) }
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

/// One thread holds the lock for a long time again and again; three others hold it shortly.
///
/// They sleep, so that the processors are free: a holder that lost its processor is to blame, too.
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
        let profile = ContentionProfile(oneIn: 1)
        let meter = ContentionMeter(strategy, level: .full, profile: profile)
        let value = Synchronized(0, strategy: meter.metered(ChosenStrategy()))
        let ending = Ending()
        let hasEnded = TestThread.run(4) { index in
            if index == 0 {
                for _ in 0..<60 {
                    value.write(fileID: "Shop/Slow.swift", line: 1) { _ in
                        // Sleeps because it holds the lock for long without a processor.
                        Thread.sleep(forTimeInterval: 2e-3)
                    }
                    // Sleeps because others get the lock then.
                    Thread.sleep(forTimeInterval: 1e-4)
                }
                ending.isReached.store(true, ordering: .relaxed)
            }
            while !ending.isReached.load(ordering: .relaxed) {
                value.write(fileID: "Shop/Fast.swift", line: UInt(index)) { $0 += 1 }
                // Sleeps because it has nothing to do without the lock.
                Thread.sleep(forTimeInterval: 2e-5)
            }
        }
        precondition(hasEnded, "The threads end.")
        return profile.sites
    }
}

/// Whether the slow thread has ended.
private final class Ending: Sendable {
    let isReached = Atomic(false)
}
