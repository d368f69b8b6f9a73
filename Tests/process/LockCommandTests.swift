import Foundation
import LatchkeyTestSupport
import Testing

/// `latchkey lock` and `latchkey elect`, with real processes.
///
/// Sections hold the lock of a file, flock(2), which the kernel frees when the last process of the
/// section has ended: so a section that finds it taken overlaps with another one.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct LockCommandTests {
    /// The status of a section that overlaps with another one.
    private static let overlap: Int32 = 99

    private func section(_ rig: ClientRig, _ command: String) -> [String] {
        let file = rig.folder.path + "/section"
        return ["--", "flock", "-n", "-E", "\(Self.overlap)", file, "sh", "-c", command]
    }

    /// The number of requests that the service has answered, but for those for metrics.
    private func requestCount(_ rig: ClientRig) throws -> Int {
        let headers = rig.environment["LATCHKEY_TOKEN"].map { ["Authorization: Bearer \($0)"] }
        let text = try Site(port: rig.port).ask("GET", "/metrics", headers: headers ?? []).text
        return text.split(separator: "\n").filter {
            $0.hasPrefix("latchkey_http_requests_total{") && $0.contains("/v1/")
        }.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }.reduce(0, +)
    }

    @Test(arguments: ClientWay.allCases)
    func `sections of ten contenders do not overlap, and take three requests each`(
        way: ClientWay
    ) async throws {
        try await way.serve { rig in
            let log = rig.folder.path + "/log"
            let command =
                "echo begin $LATCHKEY_FENCING_TOKEN >>'\(log)'; sleep 0.02; "
                + "echo end $LATCHKEY_FENCING_TOKEN >>'\(log)'"
            let contenders = (0..<10).map { _ in
                TestThread {
                    for _ in 0..<5 {
                        let arguments = ["lock", "a", "--ttl", "10"] + section(rig, command)
                        let result = try? rig.start(arguments).finish()
                        #expect(result?.status == 0, "\(result?.errors ?? "")")
                    }
                }
            }
            for contender in contenders { contender.join() }
            let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
            let tokens = lines.compactMap { Int($0.split(separator: " ").last ?? "") }
            try #require(tokens.count == 100)
            for index in stride(from: 0, to: 100, by: 2) {
                #expect(lines[index].hasPrefix("begin") && lines[index + 1].hasPrefix("end"))
                #expect(tokens[index] == tokens[index + 1])
                #expect(index == 0 || tokens[index] > tokens[index - 1])
            }
            #expect(try requestCount(rig) <= 150)
            #expect(try rig.run("get", "a").status == 3)
        }
    }

    @Test(arguments: ClientWay.allCases)
    func `holders that are killed take their sections with them`(way: ClientWay) async throws {
        try await way.serve { rig in
            let contenders = (0..<4).map { number in
                TestThread {
                    for round in 0..<3 {
                        let sign = rig.folder.path + "/sign-\(number)-\(round)"
                        // A process that the section starts goes on after it, if nothing ends it.
                        let command = "sleep 300 & : >'\(sign)'; wait"
                        let arguments = ["lock", "a", "--ttl", "1"] + section(rig, command)
                        guard let holder = try? holder(rig, arguments, sign) else {
                            Issue.record("no section makes its sign")
                            return
                        }
                        holder.signal(SIGKILL)
                        #expect([SIGKILL, Self.lost].contains(holder.wait()))
                    }
                }
            }
            for contender in contenders { contender.join() }
            // None of them found the section taken, or it would not have made its sign.
            let last = try rig.start(["lock", "a", "--ttl", "1"] + section(rig, "true")).finish()
            #expect(last.status == 0, "\(last.errors)")
        }
    }

    private static let lost: Int32 = 123

    /// Starts a holder until its section has made a sign: on a busy machine, one can lose its lease
    /// before.
    private func holder(_ rig: ClientRig, _ arguments: [String], _ sign: String) throws -> Program {
        let files = FileManager.default
        for _ in 0..<100 {
            let holder = try rig.start(arguments)
            try eventually("a sign, or an end") {
                files.fileExists(atPath: sign) || holder.hasEnded
            }
            if files.fileExists(atPath: sign) { return holder }
            try #require(holder.wait() == Self.lost)
        }
        throw NeverCame(sign)
    }

    /// The process that is stopped: the service, or the holder itself.
    enum Silence: CaseIterable, Sendable {
        case ofService
        case ofHolder
    }

    @Test(arguments: Silence.allCases)
    func `a section ends before its lease, though it ignores SIGTERM`(
        silence: Silence
    ) async throws {
        try await ClientWay.plain.serve { rig in
            // The section writes down the time that it has seen, again and again.
            let command =
                #"trap '' TERM; while :; do date +%s%N >"$0.new"; mv "$0.new" "$0"; done"#
            let holder = try hold(rig, command, ttl: 3)
            let stopped = silence == .ofService ? rig.service : holder
            stopped.signal(SIGSTOP)
            // Any lease began before this moment.
            let start = Date().timeIntervalSince1970
            if silence == .ofHolder {
                let next = try rig.start(["lock", "a", "--", "true"]).finish()
                #expect(next.status == 0, "\(next.errors)")
                stopped.signal(SIGCONT)
                #expect(holder.wait() == 123)
            } else {
                #expect(holder.wait() == 123)
                stopped.signal(SIGCONT)
            }
            let text = try String(
                contentsOfFile: rig.folder.path + "/sign",
                encoding: .utf8
            )
            let last = (Double(text.dropLast()) ?? .infinity) / 1e9
            #expect(last < start + 3, "the section was seen \(last - start) s later")
        }
    }

    @Test func `a lease is renewed for as long as its command runs`() async throws {
        try await ClientWay.plain.serve { rig in
            let command = "while [ ! -e '\(rig.folder.path)/sign' ]; do sleep 0.05; done"
            let holder = try rig.start(["lock", "a", "--ttl", "10", "--", "sh", "-c", command])
            var former = Double.infinity
            try eventually("the time that is left grows") {
                let answer = try Site(port: rig.port).ask("GET", "/v1/properties/a")
                let left = answer.headers["latchkey-ttl"].flatMap(Double.init) ?? .infinity
                defer { former = left }
                return left > former && left.isFinite
            }
            try rig.folder.write("sign", "")
            #expect(holder.wait() == 0)
        }
    }

    @Test func `a lease that came long after it was asked for has its whole time`() async throws {
        try await ClientWay.plain.serve { rig in
            let first = try hold(rig, #": >"$0"; sleep 2.6"#, ttl: 9)
            let second = try rig.run("lock", "a", "--ttl", "3", "--", "sleep", "1")
            #expect(second.status == 0, "\(second.errors)")
            #expect(first.wait() == 0)
        }
    }

    @Test func `a lock that is taken away ends its command`() async throws {
        try await ClientWay.plain.serve { rig in
            let holder = try hold(rig, #": >"$0"; sleep 300"#, ttl: 2)
            _ = try rig.output("delete", "a")
            let result = holder.finish()
            #expect(result.status == 123)
            #expect(result.errors.contains("taken away"), "\(result.errors)")
        }
    }

    @Test func `the status is that of the command, or says what went wrong`() async throws {
        try await ClientWay.plain.serve { rig in
            func status(_ arguments: String...) throws -> Int32 {
                try rig.start(["lock", "a", "--ttl", "5"] + arguments).finish().status
            }
            #expect(try status("--", "sh", "-c", "exit 7") == 7)
            #expect(try status("--", "sh", "-c", "kill -USR1 $$") == 128 + SIGUSR1)
            #expect(try status("--", "no-such-command-here") == 127)
            #expect(try status("--", "/dev/null") == 126)
            #expect(try status("--url", "http://127.0.0.1:1/x", "--", "true") == 2)
            #expect(try status() == 2)
            #expect(try rig.run("get", "a").status == 3, "all of them gave it back")
            _ = try rig.output("put", "a", "1")
            #expect(try status("--wait", "0", "--", "true") == 124)
            #expect(try status("--wait", "1", "--", "true") == 124)
            #expect(try rig.output("get", "a") == "1\n")
            let first = try rig.output("lock", "b", "--", "sh", "-c", "echo $LATCHKEY_LOCK_NAME")
            #expect(first == "b\n")
        }
    }

    @Test func `a signal is passed on, and one while waiting leaves nothing`() async throws {
        try await ClientWay.plain.serve { rig in
            let command = #"trap 'exit 5' TERM; : >"$0"; while :; do sleep 0.01; done"#
            let holder = try hold(rig, command)
            let waiting = try rig.start(["lock", "a", "--", "true"])
            try Site(port: rig.port).awaitMetric("latchkey_watchers", 1)
            waiting.signal(SIGINT)
            #expect(waiting.wait() == 128 + SIGINT)
            holder.signal(SIGTERM)
            #expect(holder.wait() == 5)
            #expect(try rig.run("get", "a").status == 3)
        }
    }

    @Test(arguments: ClientWay.allCases)
    func `one candidate leads at a time, and another one follows`(way: ClientWay) async throws {
        try await way.serve { rig in
            #expect(try rig.run("elect", "x", "--who").status == 3)
            let log = rig.folder.path + "/log"
            let names = ["ann", "bob", "cyd"]
            let candidates = try names.map { name in
                let command = "echo \(name) >>'\(log)'; sleep 300"
                return try rig.start(
                    ["elect", "x", "--ttl", "5", "--holder", name] + section(rig, command)
                )
            }
            var left = names
            while !left.isEmpty {
                try awaitLines(log, names.count - left.count + 1)
                let text = try String(contentsOfFile: log, encoding: .utf8)
                let leader = String(text.split(separator: "\n").last ?? "")
                #expect(left.contains(leader))
                #expect(try rig.output("elect", "x", "--who") == leader + "\n")
                left.removeAll { $0 == leader }
                let index = names.firstIndex(of: leader) ?? 0
                // Of three, two end as asked, and one is killed.
                let isKilled = left.count == 1
                candidates[index].signal(isKilled ? SIGKILL : SIGTERM)
                #expect(candidates[index].wait() == (isKilled ? SIGKILL : 128 + SIGTERM))
            }
            #expect(try rig.run("elect", "x", "--who").status == 3)
        }
    }

    /// Starts a holder of the lock `a`, and waits until its command has made the file `$0`.
    private func hold(_ rig: ClientRig, _ command: String, ttl: Int = 30) throws -> Program {
        let shell = ["sh", "-c", command, rig.folder.path + "/sign"]
        let holder = try rig.start(["lock", "a", "--ttl", "\(ttl)", "--"] + shell)
        try awaitFile(rig.folder.path + "/sign")
        return holder
    }

    /// Waits until a file has this many lines: another process writes it.
    private func awaitLines(_ path: String, _ count: Int) throws {
        try eventually("\(path) has \(count) lines") {
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").count >= count
        }
    }

    /// Waits until a file is there: another process makes it.
    private func awaitFile(_ path: String) throws {
        try eventually("\(path) is there") { FileManager.default.fileExists(atPath: path) }
    }
}
