import Dispatch
import LatchkeyStrategies
import Synchronization

// The cost of a write under `actor` for one task, beside an `await` on an actor without a library.
//
// The task does something of its own between two calls, so it leaves the actor. Without that the
// compiler keeps a task inside a plain actor for the whole loop, which no program has.

/// A row of the table.
func actorOfOneTask(operations: Int) -> Comparison {
    let counter = Synchronized<Int, ActorStrategy>(0)
    let plain = PlainActor()
    return Comparison(
        measure: "asyncWrite of one task, actor ÷ await on a plain actor",
        figure: .costRatio(atMost: 2),
        subject: Contender(name: "Synchronized.asyncWrite, actor") {
            waiting {
                let began = DispatchTime.now().uptimeNanoseconds
                for index in 0..<operations {
                    between.store(index, ordering: .relaxed)
                    try? await counter.asyncWrite { $0 &+= 1 }
                }
                return Double(DispatchTime.now().uptimeNanoseconds - began) / Double(operations)
            }
        },
        reference: Contender(name: "an actor's method") {
            waiting {
                let began = DispatchTime.now().uptimeNanoseconds
                for index in 0..<operations {
                    between.store(index, ordering: .relaxed)
                    await plain.increment()
                }
                return Double(DispatchTime.now().uptimeNanoseconds - began) / Double(operations)
            }
        }
    )
}

/// Runs `body` in a task of its own; blocks until it has returned.
func waiting(_ body: @escaping @Sendable () async -> Double) -> Double {
    let result = Synchronized<Double, LockStrategy>(.nan)
    let ended = DispatchSemaphore(value: 0)
    Task.detached {
        let value = await body()
        result.write { $0 = value }
        ended.signal()
    }
    ended.wait()
    return result.read { $0 }
}

/// Relaxed: no thread reads it.
private let between = Atomic<Int>(0)

private actor PlainActor {
    private var value = 0

    func increment() {
        value &+= 1
    }
}
