import Foundation
import Glibc
import LatchkeyStrategies
import Synchronization

// How long a thread waits for a value that others hold for long: three threads stay inside for a
// millisecond and come back after 50 microseconds, and a fourth asks every two milliseconds. A lock
// that lets running threads overtake sleeping ones, always, keeps the fourth out for most of the
// time. Under `lock`, threads that come back at once keep it out for seconds: then there is no
// reference.

/// The mean and the longest wait under `adaptive`, against `lock`.
func waitsForHolders() -> [Comparison] {
    [(false, "mean"), (true, "longest")].map { isLongest, name in
        Comparison(
            measure: "\(name) wait beside three holders of 1 ms, adaptive ÷ lock",
            figure: .costRatio(atMost: isLongest ? 1 : 1.5),
            subject: StrategyKind.adaptive.accept(WaitForHolders(isLongest: isLongest)),
            reference: StrategyKind.lock.accept(WaitForHolders(isLongest: isLongest))
        )
    }
}

private struct WaitForHolders: StrategyVisitor {
    let isLongest: Bool
    let holders = 3
    let section: UInt64 = 1_000_000
    let outside: UInt64 = 50_000
    let pauseMicroseconds: UInt32 = 2_000
    let asks = 100

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Contender {
        preconditionFailure("\(ChosenStrategy.name) has no blocking access functions.")
    }

    private static func work(_ nanoseconds: UInt64) {
        let start = DispatchTime.now().uptimeNanoseconds
        while DispatchTime.now().uptimeNanoseconds - start < nanoseconds {}
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> Contender {
        Contender(name: ChosenStrategy.name) { [self] in
            let value = Synchronized<Int, ChosenStrategy>(0)
            let isOver = Over()
            let ended = DispatchGroup()
            for _ in 0..<holders {
                ended.enter()
                Thread.detachNewThread {
                    while !isOver.flag.load(ordering: .relaxed) {
                        value.write { count in
                            count &+= 1
                            Self.work(section)
                        }
                        Self.work(outside)
                    }
                    ended.leave()
                }
            }
            let waits = (0..<asks).map { _ in
                usleep(pauseMicroseconds)
                let start = DispatchTime.now().uptimeNanoseconds
                return Double(value.write { _ in DispatchTime.now().uptimeNanoseconds } - start)
            }
            isOver.flag.store(true, ordering: .relaxed)
            ended.wait()
            return isLongest ? waits.max() ?? 0 : waits.reduce(0, +) / Double(asks)
        }
    }
}

private final class Over: Sendable {
    let flag = Atomic(false)
}
