import LatchkeyContention
import LatchkeyMachine

/// The work of the threads of a slice, and whether the values are right.
@usableFromInline
struct SliceResult: Sendable {
    var tallies: [WorkerTally]
    var usage = Usage()
    /// In an open loop.
    var responses: Responses?
    /// The number of keys whose value does not match the writes, or of failed checks of a program's
    /// own workload.
    @usableFromInline var wrongCount = 0
    var contention: ContentionReport.Row?
    /// How long a cache line took before and after the slice.
    var lineNanoseconds: [Double] = []
    /// Whether the processors were moved during its round.
    var isMoved = false

    /// The sum of the threads' own rates.
    ///
    /// Each rate is measured from the common start to the end of the thread's last operation. So a
    /// long wait of a thread at the end neither costs it that time nor extends the time of the
    /// others.
    var operationsPerSecond: Double { tallies.reduce(0) { $0 + $1.operationsPerSecond } }
    var operations: Int { tallies.reduce(0) { $0 + $1.operations } }
    /// Warm-up included.
    var operationsInAll: Int { tallies.reduce(0) { $0 + $1.operationsInAll } }
}
