internal import CLatchkeySystem
internal import Glibc

/// Writes lines on a thread of its own, so that no other thread waits for a slow reader or a disk.
///
/// **Design.** The mutex guards every variable; `changed` is signalled when lines arrive and when
/// all are written. The mutex is not held during a write. Lines wait up to a bound; further lines
/// are dropped and counted, and when the sink takes lines again, an extra line says how many are
/// missing. On a descriptor, each line is one system call, so that lines of several processes that
/// share a pipe do not mix. The thread lives as long as the process, which may end while it writes.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because mutex and condition are never freed (the
/// thread always keeps the object) and variables are touched only while the mutex is held.
@safe
package final class LineWriter: @unchecked Sendable {
    /// Makes the line that says how many lines were dropped.
    package typealias Report = @Sendable (UInt64) -> [UInt8]

    /// Writes lines in their order, and returns how many it could not write.
    package typealias Sink = @Sendable ([[UInt8]]) -> Int

    /// The maximum number of bytes that wait for a descriptor, without those that are being
    /// written.
    package static let waitingByteCountMax = 64 << 10

    /// The writer of the log.
    package static let standardError = LineWriter(descriptor: 2)

    private let byteCountMax: Int
    private let sink: Sink
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private var lines: [[UInt8]] = []
    private var byteCount = 0
    private var isWriting = false
    private var dropped: UInt64 = 0
    private var reported: UInt64 = 0
    private var report: Report?

    /// Writes to a descriptor.
    package convenience init(descriptor: Int32) {
        self.init(byteCountMax: Self.waitingByteCountMax) { lines in
            lines.count { !Self.write($0, to: descriptor) }
        }
    }

    /// Starts the thread, which takes over the caller's signal mask.
    ///
    /// - Parameters:
    ///   - byteCountMax: How many bytes wait at most, without those that are being written.
    ///   - sink: Called on the thread; may block.
    package init(byteCountMax: Int, sink: @escaping Sink) {
        self.byteCountMax = byteCountMax
        self.sink = sink
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe changed = .allocate(capacity: 1)
        unsafe changed.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        let mutexCode = unsafe pthread_mutex_init(mutex, nil)
        precondition(mutexCode == 0, "pthread_mutex_init failed with \(mutexCode).")
        let conditionCode = unsafe pthread_cond_init(changed, &attributes)
        precondition(conditionCode == 0, "pthread_cond_init failed with \(conditionCode).")
        var thread = pthread_t()
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        let threadCode = unsafe pthread_create(
            &thread,
            nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<LineWriter>.fromOpaque(context).takeUnretainedValue().run()
            },
            context
        )
        precondition(threadCode == 0, "pthread_create failed with \(threadCode).")
        pthread_detach(thread)
    }

    /// How many lines were dropped since the start.
    package var droppedTotal: UInt64 { withLock { dropped } }

    /// How many bytes wait, without those that are being written.
    package var waitingByteCount: Int { withLock { byteCount } }

    /// Adds a line to those that wait; never blocks for the reader.
    ///
    /// - Parameters:
    ///   - line: The line, with its line feed.
    ///   - report: Makes the line about dropped lines, this one included.
    package func append(_ line: [UInt8], report: Report? = nil) {
        withLock {
            if let report { self.report = report }
            guard byteCount + line.count <= byteCountMax else {
                dropped += 1
                return
            }
            lines.append(line)
            byteCount += line.count
            unsafe pthread_cond_broadcast(changed)
        }
    }

    /// Waits until all lines are written, or the time is over.
    ///
    /// - Returns: Whether they are written.
    @discardableResult
    package func flush(withinMilliseconds milliseconds: Int) -> Bool {
        var end = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &end)
        let nanoseconds = end.tv_nsec + milliseconds * 1_000_000
        end.tv_sec += nanoseconds / 1_000_000_000
        end.tv_nsec = nanoseconds % 1_000_000_000
        return withLock {
            while isWriting || !lines.isEmpty || dropped != reported {
                guard unsafe pthread_cond_timedwait(changed, mutex, &end) == 0 else {
                    return false
                }
            }
            return true
        }
    }

    private func run() -> Never {
        while true {
            let (taken, missing, report) = take()
            let failedCount = sink(taken)
            // These lines waited while others were dropped, so the report belongs here.
            if missing > 0, let report {
                _ = sink([report(missing)])
            }
            withLock {
                // No report: the sink cannot write.
                dropped += UInt64(failedCount)
                reported += UInt64(failedCount)
                isWriting = false
                unsafe pthread_cond_broadcast(changed)
            }
        }
    }

    /// Waits for lines and takes all that wait.
    private func take() -> (lines: [[UInt8]], missing: UInt64, report: Report?) {
        withLock {
            while lines.isEmpty, dropped == reported {
                unsafe pthread_cond_wait(changed, mutex)
            }
            defer {
                lines = []
                byteCount = 0
                reported = dropped
                isWriting = true
            }
            return (lines, dropped - reported, report)
        }
    }

    /// Writes a line and waits for a slow reader; false if it cannot be written.
    private static func write(_ line: [UInt8], to descriptor: Int32) -> Bool {
        var rest = line[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            }
            if count < 0, errno == EAGAIN {
                // The descriptor may have been made non-blocking before the start.
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                unsafe poll(&wanted, 1, -1)
            } else if count < 0, errno != EINTR {
                return false
            }
            rest = rest.dropFirst(max(0, count))
        }
        return true
    }

    private func withLock<Result>(_ body: () -> Result) -> Result {
        let code = unsafe pthread_mutex_lock(mutex)
        precondition(code == 0, "pthread_mutex_lock failed with \(code).")
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body()
    }
}
