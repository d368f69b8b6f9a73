internal import Foundation

/// The control groups that this process is in, of either version: its own and all above it.
///
/// Each of them can limit the processor time of its members, so a limit is looked for in all. A
/// container may see its own group as the root, while the kernel names it by a path that only the
/// host has: missing folders are left out, and the root is always included.
package struct ControlGroup: Sendable, Equatable {
    /// The folders in which the kernel shows the groups, each before the one above it.
    let folders: [String]

    package init() {
        self.init(membership: SystemFile.text("/proc/self/cgroup") ?? "", root: "/sys/fs/cgroup")
    }

    /// - Parameters:
    ///   - membership: A line `number:controllers:path` for each hierarchy, of which that of
    ///     version 2 is number 0 and names no controllers.
    ///   - root: Where the hierarchies are mounted.
    init(membership: String, root: String) {
        var folders: [String] = []
        func add(_ mount: String, _ path: Substring) {
            var names = path.split(separator: "/")
            if names.contains("..") {
                names = []
            }
            for count in stride(from: names.count, through: 0, by: -1) {
                let folder = ([mount] + names.prefix(count).map(String.init))
                    .joined(separator: "/")
                if FileManager.default.fileExists(atPath: folder), !folders.contains(folder) {
                    folders.append(folder)
                }
            }
        }
        for line in membership.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            if fields[0] == "0" {
                add(root, fields[2])
                add(root + "/unified", fields[2])
            } else if fields[1].split(separator: ",").contains("cpu") {
                // One of the two is a link to the other where they are mounted together.
                add(root + "/\(fields[1])", fields[2])
                if !FileManager.default.fileExists(atPath: root + "/\(fields[1])") {
                    add(root + "/cpu", fields[2])
                }
            }
        }
        self.folders = folders
    }

    /// The processor time that the groups grant, in processors: the least of all.
    ///
    /// `nil` if none limits it.
    package var processorQuota: Double? {
        folders.compactMap(Self.quota(of:)).min()
    }

    /// For how long the groups kept their members from running so far, in seconds.
    ///
    /// The sum over the groups, so that an addition of any of them shows. `nil` where no group
    /// says.
    package var throttledSeconds: Double? {
        let found = folders.compactMap { folder in
            SystemFile.text(folder + "/cpu.stat").flatMap(Self.throttledSeconds)
        }
        return found.isEmpty ? nil : found.reduce(0, +)
    }

    private static func quota(of folder: String) -> Double? {
        if let text = SystemFile.text(folder + "/cpu.max") {
            return quota(text)
        }
        guard let quota = SystemFile.text(folder + "/cpu.cfs_quota_us"),
            let period = SystemFile.text(folder + "/cpu.cfs_period_us")
        else { return nil }
        return Self.quota(quota + " " + period)
    }

    /// A quota and a period in microseconds; `max` or -1 for no limit.
    static func quota(_ text: String) -> Double? {
        let words = text.split { $0.isWhitespace }.map { Double($0) }
        guard words.count == 2, let quota = words[0], let period = words[1], quota > 0, period > 0
        else { return nil }
        return quota / period
    }

    /// `cpu.stat`, in microseconds in version 2 and in nanoseconds in version 1.
    static func throttledSeconds(_ text: String) -> Double? {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 2, let value = Double(words[1]) else { continue }
            switch words[0] {
            case "throttled_usec": return value / 1e6
            case "throttled_time": return value / 1e9
            default: continue
            }
        }
        return nil
    }
}
