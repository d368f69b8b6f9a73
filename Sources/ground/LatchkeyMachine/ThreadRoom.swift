internal import CLatchkeyMachine
internal import Glibc

/// The threads that the system lets this process have.
///
/// If they are too few, libdispatch waits for more, without a message and without end. So this asks
/// before.
package enum ThreadRoom {
    /// Why this process cannot have this many more threads at once: a sentence; nil if it can.
    ///
    /// Makes them, and waits for their end.
    package static func refusal(of count: Int) -> String? {
        let error = latchkey_machine_threads_refused(Int32(count))
        guard error != 0 else { return nil }
        let reason = unsafe strerror(error).map { unsafe String(cString: $0) } ?? "error \(error)"
        return "the system does not allow \(count) threads: \(reason). Raise TasksMax= of a unit, "
            + "--pids-limit of a container, or 'ulimit -u'."
    }
}
