public import Dispatch
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Makes dispatch queues whose submitted blocks do not need the threads of the default global
/// queue.
///
/// **Design.** A queue takes its threads from the global queue that it targets. If that were the
/// default one, blocks on it that wait for a write would hold the threads that the write needs. A
/// private serial queue without a target gets a thread of its own as soon as it is busy: with 128
/// stripes, over two hundred threads. So the target is the global queue of the class that programs
/// use least. Its threads are at most as many as the processors, and only bodies of writes run
/// there, which do not block. `docs/decisions/0010-queues-have-threads-of-their-own.md` has the
/// figures.
@usableFromInline enum PrivateQueue {
    @usableFromInline static func make(label: String, isConcurrent: Bool) -> DispatchQueue {
        DispatchQueue(
            label: label,
            attributes: isConcurrent ? .concurrent : [],
            target: .global(qos: .userInteractive)
        )
    }
}

/// The serial queues on which completions run, as many as there are processors.
///
/// **Design.** A strategy's completions all go to one of them, so their order is kept. Each has a
/// thread of its own while it is busy: it waits neither for the threads that apply writes nor for
/// those of the program, and a completion may wait for a write.
@usableFromInline enum Completions {
    private static let queues = (0..<max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))).map { _ in
        DispatchQueue(label: "latchkey.completions")
    }
    private static let last = Atomic<Int>(0)

    /// The queue of the next strategy.
    ///
    /// Relaxed: the number orders nothing.
    @usableFromInline static func queue() -> DispatchQueue {
        queues[(last.wrappingAdd(1, ordering: .relaxed).newValue & Int.max) % queues.count]
    }
}
