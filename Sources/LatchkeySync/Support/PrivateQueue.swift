public import CDispatch
internal import CLatchkeySystem
public import Dispatch
internal import Glibc
internal import Synchronization

/// A dispatch queue whose submitted blocks run on threads that no other code of the program uses.
///
/// **Design.** A queue takes its threads from the global queue that it targets. If that were the
/// one that everybody uses, blocks there which wait for a write of ours would hold the threads that
/// the write needs. A private serial queue without a target gets a thread of its own as soon as it
/// is busy: with 128 stripes, over two hundred threads. So the target is the global queue of a
/// class that `DispatchQoS` has no name for. Its threads are bounded by the processors, and what
/// runs there are the bodies of writes, which do not block. On Linux the class has no influence on
/// a thread's priority. `docs/decisions/0010-queues-share-the-pool.md` has the figures.
///
/// `DispatchQueue` cannot be made with such a target, so this is the C interface, whose functions
/// `DispatchQueue` calls too.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because the class alone retains and releases the queue,
/// which libdispatch keeps while blocks are on it, and every call is safe from any thread.
@safe
@usableFromInline
final class PrivateQueue: @unchecked Sendable {
    @usableFromInline let queue: dispatch_queue_t

    init(label: String, isConcurrent: Bool) {
        unsafe queue = dispatch_queue_create_with_target(
            label,
            isConcurrent ? OpaquePointer(latchkey_system_concurrent_queue()) : nil,
            dispatch_get_global_queue(Self.maintenance, 0)
        )
    }

    deinit {
        unsafe latchkey_system_queue_release(UnsafeMutableRawPointer(queue))
    }

    /// `QOS_CLASS_MAINTENANCE`.
    private static let maintenance = 0x05

    @inlinable
    @inline(__always)
    func sync(isBarrier: Bool, _ body: () -> Void) {
        if isBarrier {
            unsafe dispatch_barrier_sync(queue, body)
        } else {
            unsafe dispatch_sync(queue, body)
        }
    }

    @inlinable
    func async(isBarrier: Bool, _ body: @escaping @Sendable () -> Void) {
        if isBarrier {
            unsafe dispatch_barrier_async(queue, body)
        } else {
            unsafe dispatch_async(queue, body)
        }
    }

    /// Lets no further block begin until ``resume()``. Both nest.
    @usableFromInline
    func suspend() {
        unsafe dispatch_suspend(dispatch_object_t(_dq: queue))
    }

    @usableFromInline
    func resume() {
        unsafe dispatch_resume(dispatch_object_t(_dq: queue))
    }
}

/// The serial queues on which completions run, as many as there are processors.
///
/// **Design.** A strategy's completions all go to one of them, so their order is kept. Each has a
/// thread of its own while it is busy: it waits neither for the threads that apply writes nor for
/// those of the program, and a completion may wait for a write.
@usableFromInline
enum Completions {
    private static let queues = (0..<max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))).map { _ in
        DispatchQueue(label: "latchkey.completions")
    }
    private static let last = Atomic<Int>(0)

    /// The queue of the next strategy.
    ///
    /// Relaxed: the number orders nothing.
    @usableFromInline
    static func queue() -> DispatchQueue {
        queues[(last.wrappingAdd(1, ordering: .relaxed).newValue & Int.max) % queues.count]
    }
}
