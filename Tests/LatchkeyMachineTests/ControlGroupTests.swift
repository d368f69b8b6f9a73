import Foundation
import LatchkeyTestSupport
import Testing

@testable import LatchkeyMachine

@Suite struct ControlGroupTests {
    /// Folders as the kernel shows them.
    private func root(_ files: [String: String]) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for (path, text) in files {
            let file = URL(fileURLWithPath: folder.path).appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: file)
        }
        return folder
    }

    @Test func `the limits of a group and of those above it count`() throws {
        let folder = try root([
            "cpu.stat": "usage_usec 5\n",
            "a/cpu.max": "150000 100000\n",
            "a/cpu.stat": "nr_periods 10\nnr_throttled 2\nthrottled_usec 1500000\n",
            "a/b/cpu.max": "max 100000\n",
            "a/b/cpu.stat": "throttled_usec 500000\n",
            "other/cpu.max": "1000 100000\n",
        ])
        let group = ControlGroup(membership: "0::/a/b\n", root: folder.path)
        #expect(group.processorQuota == 1.5)
        #expect(group.throttledSeconds == 2)
    }

    @Test func `the older groups say the same in other files`() throws {
        let folder = try root([
            "cpu,cpuacct/a/cpu.cfs_quota_us": "50000\n",
            "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
            "cpu,cpuacct/a/cpu.stat": "nr_throttled 2\nthrottled_time 2000000000\n",
            "cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        ])
        let membership = "5:memory:/m\n4:cpu,cpuacct:/a\n0::/a\n"
        let group = ControlGroup(membership: membership, root: folder.path)
        #expect(group.processorQuota == 0.5)
        #expect(group.throttledSeconds == 2)
    }

    @Test(arguments: ["0::/../../elsewhere\n", "0::/only/on/the/host\n", "0::/\n"])
    func `a container's own group is at the root`(membership: String) throws {
        let folder = try root(["cpu.max": "200000 100000\n", "cpu.stat": "throttled_usec 7\n"])
        let group = ControlGroup(membership: membership, root: folder.path)
        #expect(group.processorQuota == 2)
        #expect(group.throttledSeconds == 7e-6)
    }

    @Test(arguments: ["", "nonsense\n", "3:memory:/a\n"])
    func `without a group nothing is limited`(membership: String) throws {
        let folder = try root(["cpu.max": "max 100000\n", "cpu.stat": "nonsense\n"])
        let group = ControlGroup(membership: membership, root: folder.path)
        #expect(group.processorQuota == nil)
        #expect(group.throttledSeconds == nil)
    }
}
