internal import Glibc
internal import LatchkeyStrategies

/// Writes lines on a thread of its own, so that no other thread waits for a slow reader or a disk.
///
/// **Design.** One guard has all changing state; it is free during a write. Lines wait up to a
/// limit; further lines are dropped and counted, and when the sink takes lines again, an extra line
/// says how many are missing. On a descriptor, each line is one system call, so that lines of
/// several processes that share a pipe do not mix. The thread lives as long as the process, which
/// may end while it writes.
package final class LineWriter: Sendable {
    /// Makes the line that says how many lines were dropped.
    package typealias Report = @Sendable (UInt64) -> [UInt8]

    /// Writes lines in their order, and returns how many it could not write.
    package typealias Sink = @Sendable ([[UInt8]]) -> Int

    /// The maximum number of bytes that wait for a descriptor, without those that are being
    /// written.
    package static let waitingByteCountMax = 64 << 10

    /// The writer of the log.
    package static let standardError = LineWriter(descriptor: 2)

    private struct State: Sendable {
        var lines: [[UInt8]] = []
        var byteCount = 0
        var isWriting = false
        var dropped: UInt64 = 0
        var reported: UInt64 = 0
        var report: Report?

        /// Whether there is something to write.
        var isDue: Bool { !lines.isEmpty || dropped != reported }
        var isIdle: Bool { !isWriting && !isDue }
    }

    private let byteCountMax: Int
    private let sink: Sink
    private let state = Guarded<State>(State())

    /// Writes to a descriptor.
    package convenience init(descriptor: Int32) {
        self.init(byteCountMax: Self.waitingByteCountMax) { lines in
            lines.count { !Self.write($0, to: descriptor) }
        }
    }

    /// Starts the thread, which inherits the caller's signal mask.
    ///
    /// - Parameters:
    ///   - byteCountMax: How many bytes wait at most, without those that are being written.
    ///   - sink: Called on the thread; may block.
    package init(byteCountMax: Int, sink: @escaping Sink) {
        self.byteCountMax = byteCountMax
        self.sink = sink
        var thread = pthread_t()
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        let code = unsafe pthread_create(
            &thread,
            nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<LineWriter>.fromOpaque(context).takeUnretainedValue().run()
            },
            context
        )
        precondition(code == 0, "pthread_create failed with \(code).")
        pthread_detach(thread)
    }

    /// How many lines were dropped since the start.
    package var droppedTotal: UInt64 { state.read { $0.dropped } }

    /// How many bytes wait, without those that are being written.
    package var waitingByteCount: Int { state.read { $0.byteCount } }

    /// Adds a line to those that wait; never blocks for the reader.
    ///
    /// - Parameters:
    ///   - line: The line, with its line feed.
    ///   - report: Makes the line about dropped lines, this one included.
    package func append(_ line: [UInt8], report: Report? = nil) {
        state.write { state in
            if let report { state.report = report }
            guard state.byteCount + line.count <= byteCountMax else {
                state.dropped += 1
                return
            }
            state.lines.append(line)
            state.byteCount += line.count
        }
    }

    /// Waits until all lines are written, or the time is over.
    ///
    /// - Returns: Whether they are written.
    @discardableResult
    package func flush(withinMilliseconds milliseconds: Int) -> Bool {
        let deadline = ContinuousClock.now + .milliseconds(milliseconds)
        return state.read(when: \.isIdle, deadline: deadline) { _ in true } ?? false
    }

    private func run() -> Never {
        while true {
            // All waiting lines, and the number of lines dropped since the last report.
            let (lines, missing, report) = state.write(when: \.isDue) { state in
                defer {
                    (state.lines, state.byteCount) = ([], 0)
                    (state.reported, state.isWriting) = (state.dropped, true)
                }
                return (state.lines, state.dropped - state.reported, state.report)
            }
            let failedCount = UInt64(sink(lines))
            // These lines waited while others were dropped, so the report belongs here.
            if missing > 0, let report { _ = sink([report(missing)]) }
            state.write { state in
                // No report: the sink cannot write.
                state.dropped += failedCount
                state.reported += failedCount
                state.isWriting = false
            }
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
}
