public import Foundation
internal import Glibc

/// A cluster of etcd, whose members are processes on loopback.
///
/// SAFETY: `@unchecked Sendable` because one test uses it, one call after the other.
public final class EtcdProcesses: @unchecked Sendable {
    /// Why etcd does not run.
    public struct Failure: Error {
        let reason: String
    }

    /// The certificate that members show, and the authority of their clients: files in PEM.
    public struct Encryption: Sendable {
        let certificate: String
        let key: String
        let authority: String

        /// Clients must show a certificate of the authority.
        public init(certificate: String, key: String, authority: String) {
            self.certificate = certificate
            self.key = key
            self.authority = authority
        }

        var flags: [String] {
            [
                "--cert-file", certificate, "--key-file", key, "--client-cert-auth",
                "--trusted-ca-file", authority,
            ]
        }
    }

    private struct Member {
        let clientPort: UInt16
        let healthPort: UInt16
        let peerPort: UInt16
        /// Whether it joins members that are there.
        var joins = false
        /// Whether it is a cluster of its own, at the addresses of the member that it was.
        var isAlone = false
        var process: Process?
    }

    /// One member for all tests of the process, each with a name or key of its own.
    ///
    /// Send it no signals.
    public static let shared = Result { try EtcdProcesses(outlives: true) }

    private let folder: TemporaryFolder
    private let flags: [String]
    private let scheme: String
    /// Ends the members when the last descriptor of it is closed, however this process ends.
    private let lifeline: Pipe?
    private var members: [Member]

    /// Starts a cluster, and waits until each member has a leader.
    public convenience init(
        members count: Int = 1,
        flags: [String] = [],
        encryption: Encryption? = nil
    ) throws {
        try self.init(members: count, flags: flags, encryption: encryption, outlives: false)
    }

    /// If it outlives the tests, nothing frees the value before the process ends.
    private init(
        members count: Int = 1,
        flags: [String] = [],
        encryption: Encryption? = nil,
        outlives: Bool
    ) throws {
        // The disk is shared with whatever runs beside the tests, and etcd waits for it.
        folder = try TemporaryFolder(inMemory: outlives)
        self.flags = flags + (encryption?.flags ?? [])
        scheme = encryption == nil ? "http" : "https"
        lifeline = outlives ? Pipe() : nil
        members = []
        // A port that was free can be taken before the member has it.
        for attempt in 1... {
            members = try (0..<count).map { _ in
                Member(
                    clientPort: try Self.freePort(),
                    healthPort: try Self.freePort(),
                    peerPort: try Self.freePort()
                )
            }
            do {
                try startAll()
                return
            } catch {
                guard attempt < 5 else { throw error }
                for index in members.indices {
                    signal(index, SIGKILL)
                    try? FileManager.default.removeItem(atPath: "\(folder.path)/m\(index)")
                }
            }
        }
    }

    deinit {
        for member in members {
            if let process = member.process {
                kill(process.processIdentifier, SIGKILL)
                process.waitUntilExit()
            }
        }
    }

    /// The addresses of all members, for clients.
    public var addresses: [String] { members.map { "\(scheme)://127.0.0.1:\($0.clientPort)" } }

    /// Asks a member by its JSON gateway, which is there without TLS, and takes 200 only.
    @discardableResult
    public func ask(_ index: Int = 0, _ path: String, _ body: String = "{}") throws -> Data {
        let client = try HTTPClient(port: members[index].clientPort)
        let answer = try client.request("POST", path, body: Array(body.utf8))
        guard answer.status == 200 else {
            throw Failure(reason: "\(path) is answered with \(answer.status): \(answer.text)")
        }
        return Data(answer.body)
    }

    /// Sends a signal to a member.
    public func signal(_ index: Int, _ signal: Int32) {
        guard let process = members[index].process else { return }
        sendSignal(signal, to: process.processIdentifier)
        if signal == SIGKILL || signal == SIGTERM {
            process.waitUntilExit()
            members[index].process = nil
        }
    }

    /// Ends all members.
    public func stopAll() {
        for index in members.indices { signal(index, SIGTERM) }
    }

    /// Starts all members, and waits until each has a leader.
    public func startAll() throws {
        for index in members.indices { try start(index) }
        for index in members.indices { try awaitHealth(index) }
    }

    /// An answer of the gateway; numbers are texts.
    private struct Answer: Decodable {
        struct Header: Decodable {
            let member: String

            enum CodingKeys: String, CodingKey {
                case member = "member_id"
            }
        }

        struct Member: Decodable {
            let identity: String
            let name: String?

            enum CodingKeys: String, CodingKey {
                case identity = "ID"
                case name
            }
        }

        let header: Header
        let leader: String?
        let members: [Member]?
    }

    private func answer(_ index: Int, _ path: String, _ body: String = "{}") throws -> Answer {
        try JSONDecoder().decode(Answer.self, from: ask(index, path, body))
    }

    /// Puts a new member without data in the place of one, which is killed.
    ///
    /// A learner has no vote, and is not waited for.
    public func replace(_ index: Int, asLearner: Bool = false) throws {
        let other = (index + 1) % members.count
        let all = try answer(other, "/v3/cluster/member/list").members ?? []
        guard let old = all.first(where: { $0.name == "m\(index)" })
        else { throw Failure(reason: "m\(index) is no member") }
        signal(index, SIGKILL)
        // A request that was sent to a leader that is gone is lost.
        try awaitHealth(other)
        try ask(other, "/v3/cluster/member/remove", "{\"ID\":\"\(old.identity)\"}")
        try FileManager.default.removeItem(atPath: "\(folder.path)/m\(index)")
        let url = "http://127.0.0.1:\(members[index].peerPort)"
        // Members that were connected for less than five seconds count as unhealthy, and refuse it.
        try eventually("etcd takes a member") {
            let body = "{\"peerURLs\":[\"\(url)\"],\"isLearner\":\(asLearner)}"
            return (try? ask(other, "/v3/cluster/member/add", body)) != nil
        }
        members[index].joins = true
        try start(index)
        if !asLearner { try awaitHealth(index) }
    }

    /// Starts a member without its data as a new cluster of one, as an operator does by mistake.
    public func startAlone(_ index: Int) throws {
        signal(index, SIGKILL)
        try FileManager.default.removeItem(atPath: "\(folder.path)/m\(index)")
        members[index].isAlone = true
        try start(index)
        try awaitHealth(index)
    }

    /// Which member leads.
    public func leader() throws -> Int {
        let states = try members.indices.map { try answer($0, "/v3/maintenance/status") }
        guard let leader = states.firstIndex(where: { $0.header.member == $0.leader })
        else { throw Failure(reason: "there is no leader") }
        return leader
    }

    /// Puts a copy of the data of all members aside, or back in its place; none may run.
    public func copyData(back: Bool = false) throws {
        for index in members.indices {
            let (data, copy) = ("\(folder.path)/m\(index)", "\(folder.path)/copy\(index)")
            if back { try FileManager.default.removeItem(atPath: data) }
            try FileManager.default.copyItem(
                atPath: back ? copy : data,
                toPath: back ? data : copy
            )
        }
    }

    /// Starts a member that is not running.
    public func start(_ index: Int) throws {
        let member = members[index]
        let process = Process()
        let etcd = ".build-tools/bin/etcd"
        let client = "\(scheme)://127.0.0.1:\(member.clientPort)"
        let cluster = members.enumerated()
            .filter { !member.isAlone || $0.offset == index }
            .map { "m\($0.offset)=http://127.0.0.1:\($0.element.peerPort)" }
            .joined(separator: ",")
        let arguments =
            [
                "--name", "m\(index)", "--data-dir", "\(folder.path)/m\(index)",
                // The other address is in no certificate.
                "--listen-client-urls", "\(client),\(scheme)://127.0.0.2:\(member.clientPort)",
                "--advertise-client-urls", client,
                "--listen-metrics-urls", "http://127.0.0.1:\(member.healthPort)",
                "--listen-peer-urls", "http://127.0.0.1:\(member.peerPort)",
                "--initial-advertise-peer-urls", "http://127.0.0.1:\(member.peerPort)",
                "--initial-cluster", cluster, "--initial-cluster-state",
                member.joins ? "existing" : "new", "--log-level", "error",
            ] + flags
        if let lifeline {
            let script = #""$@" & read -r line; kill -KILL $!; rm -rf "$0""#
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", script, folder.path, etcd] + arguments
            process.standardInput = lifeline.fileHandleForReading
        } else {
            process.executableURL = URL(fileURLWithPath: etcd)
            process.arguments = arguments
        }
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        members[index].process = process
    }

    /// Waits until a member answers reads that need a leader.
    public func awaitHealth(_ index: Int) throws {
        try eventually("etcd is healthy") {
            guard members[index].process?.isRunning == true else {
                throw Failure(reason: "etcd has ended")
            }
            let client = try? HTTPClient(port: members[index].healthPort)
            return (try? client?.request("GET", "/health"))?.text.contains("\"true\"") == true
        }
    }

    /// A port that was free a moment ago: etcd takes none of the system's choice.
    public static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var count = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(descriptor, address, count) == 0
                    ? unsafe getsockname(descriptor, address, &count) : -1
            }
        }
        guard status == 0 else { throw Failure(reason: "no free port") }
        return UInt16(bigEndian: address.sin_port)
    }
}
