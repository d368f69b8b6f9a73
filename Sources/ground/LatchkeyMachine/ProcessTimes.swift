internal import Glibc

/// The processor time that each process of the machine has used, at one moment.
package struct ProcessTimes: Sendable {
    /// One process, by the file `/proc/<number>/stat`.
    package struct Entry: Sendable, Equatable {
        package var number: Int32
        package var name: String
        /// In all its threads, in user and in kernel mode.
        package var seconds: Double
    }

    package let entries: [Int32: Entry]

    package init(_ entries: [Entry]) {
        self.entries = Dictionary(entries.map { ($0.number, $0) }, uniquingKeysWith: { $1 })
    }

    /// Reads the file of every process; those that end meanwhile are left out.
    package static func now() -> ProcessTimes {
        let numbers = SystemFile.names(in: "/proc").filter { Int32($0) != nil }
        return ProcessTimes(
            numbers.compactMap { SystemFile.text("/proc/\($0)/stat").flatMap { Entry(stat: $0) } }
        )
    }

    /// The process, other than `own`, that used the most time since an earlier moment.
    ///
    /// Its `seconds` are those since then; `nil` if none used any.
    package func busiest(since earlier: ProcessTimes, own: Int32 = getpid()) -> Entry? {
        let grown = entries.values.filter { $0.number != own }.map { entry in
            var entry = entry
            let before = earlier.entries[entry.number]
            // The number of an ended process can be used again.
            entry.seconds -= before.map { min($0.seconds, entry.seconds) } ?? 0
            return entry
        }
        return grown.filter { $0.seconds > 0 }.max { $0.seconds < $1.seconds }
    }
}

extension ProcessTimes.Entry {
    /// The line of `/proc/<number>/stat` (proc(5)): the name is in parentheses, and may itself have
    /// some; the first field after it is number 3 of the manual.
    package init?(stat: String) {
        guard let open = stat.firstIndex(of: "("), let close = stat.lastIndex(of: ")"),
            open < close, let number = Int32(stat[..<open].filter { $0 != " " })
        else { return nil }
        let fields = stat[close...].dropFirst(2).split(separator: " ")
        guard fields.count > 15 - 3, let user = Double(fields[14 - 3]),
            let kernel = Double(fields[15 - 3])
        else { return nil }
        self.init(
            number: number,
            name: String(stat[stat.index(after: open)..<close]),
            seconds: (user + kernel) / MachineReading.ticksPerSecond
        )
    }
}
