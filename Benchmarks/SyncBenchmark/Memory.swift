import Dispatch
import Glibc
import LatchkeyStrategies

// The heap memory of one guarded integer, and how often an access to an actor allocates. Runs with
// `Tests/allocations/counter.c` loaded into the process.

/// Prints the rows: a line of JSON each.
func measureMemory() throws {
    for kind in StrategyKind.allCases {
        let cost = kind.accept(HeapCost())
        let targets = heapTargets(of: kind)
        try report(
            measure: "memory of one Synchronized<Int, \(kind.rawValue)>",
            unit: "B",
            values: [cost.bytes],
            atMost: targets?.bytes,
            note: ""
        )
        try report(
            measure: "  the same, allocations",
            unit: "",
            values: [cost.allocations],
            atMost: targets?.allocations,
            note: ""
        )
    }
    try report(
        measure: "allocations of an asyncWrite of one task, actor",
        unit: "",
        values: [allocationsOfActor()],
        atMost: 0,
        note: ""
    )
}

/// The memory that the heap holds, or that was asked of it.
struct HeapUse {
    var allocations: Double
    var bytes: Double
}

/// The targets; nil where there are none.
private func heapTargets(of kind: StrategyKind) -> (bytes: Double, allocations: Double?)? {
    switch kind {
    case .adaptive: (64, 1)
    case .lock: (96, 1)
    case .actor: (200, nil)
    case .serialQueueAsync, .barrierQueueAsync: (400, nil)
    default: nil
    }
}

/// The mean over many values, so that a single allocation hardly matters.
private struct HeapCost: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> HeapUse {
        let count = 2000
        var values: [Synchronized<Int, ChosenStrategy>] = []
        values.reserveCapacity(count)
        let before = heapNow()
        for index in 0..<count {
            values.append(Synchronized(index))
        }
        let after = heapNow()
        precondition(values.count == count)
        return HeapUse(
            allocations: (after.allocations - before.allocations) / Double(count),
            bytes: (after.bytes - before.bytes) / Double(count)
        )
    }
}

private func allocationsOfActor() -> Double {
    let count = 2000
    let value = Synchronized<Int, ActorStrategy>(0)
    return waiting {
        try? await value.asyncWrite { $0 &+= 1 }
        let before = heapNow()
        for _ in 0..<count {
            try? await value.asyncWrite { $0 &+= 1 }
        }
        return (heapNow().allocations - before.allocations) / Double(count)
    }
}

private typealias LatchkeyHeap =
    @convention(c) (
        UnsafeMutablePointer<UInt64>, UnsafeMutablePointer<UInt64>
    ) -> Void

private let latchkeyHeap: LatchkeyHeap? = unsafe unsafeBitCast(
    dlsym(dlopen(nil, RTLD_NOW), "latchkey_heap"),
    to: LatchkeyHeap?.self
)

private func heapNow() -> HeapUse {
    guard let heap = unsafe latchkeyHeap else {
        preconditionFailure("Load heap.so with LD_PRELOAD.")
    }
    var (allocations, bytes) = (UInt64(0), UInt64(0))
    // SAFETY: the function writes to the two words and keeps no address.
    unsafe heap(&allocations, &bytes)
    return HeapUse(allocations: Double(allocations), bytes: Double(bytes))
}
