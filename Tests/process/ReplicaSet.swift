import Foundation
import LatchkeyTestSupport

/// Replicas of one cluster over processes of etcd.
///
/// SAFETY: `@unchecked Sendable` because one test uses it, one call after the other.
final class ReplicaSet: @unchecked Sendable {
    let etcd: EtcdProcesses
    private(set) var programs: [Program] = []
    private(set) var sites: [Site] = []
    private let folder: TemporaryFolder
    private let flags: [String]
    /// A file with the addresses of etcd; nil if they are in the flag.
    private let addressFile: String?

    /// - Parameters:
    ///   - etcd: Its members; new ones if there are none.
    ///   - addressFile: A file with their addresses; nil if they are in the flag.
    ///   - members: How many new ones.
    ///   - strategies: That of each replica.
    ///   - flags: Further ones, of all replicas.
    /// - Throws: If a process does not start, or does not become ready.
    init(
        _ etcd: EtcdProcesses? = nil,
        addressFile: String? = nil,
        members: Int = 1,
        strategies: [String] = ["lock", "snapshot", "adaptive"],
        flags: [String] = []
    ) throws {
        self.etcd = try etcd ?? EtcdProcesses(members: members)
        self.flags = flags
        self.addressFile = addressFile
        folder = try TemporaryFolder()
        programs = try strategies.indices.map { index in
            try Program(arguments(index, port: 0) + ["--strategy", strategies[index]])
        }
        sites = try programs.map { Site(port: try $0.awaitPort()) }
        for site in sites { try Self.awaitReady(site) }
    }

    private func arguments(_ index: Int, port: UInt16) -> [String] {
        [
            "serve", "--log-level", "error", "--port", "\(port)", "--data", data(index),
            "--cluster", addressFile ?? etcd.addresses.joined(separator: ","),
            "--cluster-name", "test",
        ] + flags
    }

    /// Waits until a replica is up to date with the others.
    static func awaitReady(_ site: Site) throws {
        try eventually("\(site.port) is ready") {
            (try? site.ask("GET", "/readyz").status) == 200
        }
    }

    /// Kills a replica, or ends it.
    func end(_ index: Int, _ signal: Int32 = SIGKILL) {
        programs[index].signal(signal)
        _ = programs[index].wait()
    }

    /// Starts a replica again, on its port and with its data.
    func start(_ index: Int, _ more: [String] = []) throws {
        programs[index] = try Program(arguments(index, port: sites[index].port) + more)
        _ = try programs[index].awaitPort()
        try Self.awaitReady(sites[index])
    }

    /// Ends a replica, and starts it again.
    func restart(_ index: Int, _ more: [String] = []) throws {
        end(index, SIGTERM)
        try start(index, more)
    }

    /// A metric without labels.
    func metric(_ name: String, at index: Int) throws -> String? {
        try sites[index].ask("GET", "/metrics").text.split(separator: "\n")
            .first { $0.hasPrefix(name + " ") }?
            .split(separator: " ").last.map(String.init)
    }

    /// An answer of etcd's JSON gateway.
    private struct Records: Decodable {
        struct Record: Decodable {
            let value: Data
        }

        let kvs: [Record]?
    }

    /// The record of each replica, as etcd has it.
    func records() throws -> [String] {
        let key = Data("/latchkey/replicas/".utf8).base64EncodedString()
        let end = Data("/latchkey/replicas0".utf8).base64EncodedString()
        let question = #"{"key":"\#(key)","range_end":"\#(end)"}"#
        let answer = try etcd.ask(0, "/v3/kv/range", question)
        let kvs = try JSONDecoder().decode(Records.self, from: answer).kvs ?? []
        return kvs.map { String(decoding: $0.value, as: UTF8.self) }
    }

    /// Makes etcd forget all before the first replica's place, once this many replicas have
    /// published that their files have it, the one with the address included.
    func forget(saidBy count: Int = 1, address: String = "") throws {
        let place = try metric("latchkey_cluster_log_place", at: 0) ?? "none"
        try eventually("the replicas have said where they are") {
            let level = try records().filter { $0.contains("\"place\":\(place)") }
            return level.count >= count
                && (address.isEmpty || level.contains { $0.contains(address) })
        }
        try etcd.ask(0, "/v3/kv/compaction", "{\"revision\":\"\(place)\"}")
    }

    /// Starts the first replica again with its own address, so that a new one can take its state,
    /// and makes etcd forget the log before that.
    func offerState(running count: Int = 1) throws {
        end(0, SIGTERM)
        try start(0, offer(0))
        try forget(saidBy: count, address: ":\(sites[0].port)\"")
    }

    /// The flags with which a replica gives others its state.
    func offer(_ index: Int) -> [String] {
        ["--cluster-url", "http://127.0.0.1:\(sites[index].port)"]
    }

    /// Where a replica has its data.
    func data(_ index: Int) -> String { "\(folder.path)/\(index)" }

    /// Starts one more replica, without data.
    func add(_ more: [String] = []) throws {
        let index = programs.count
        programs.append(try Program(arguments(index, port: 0) + more))
        sites.append(Site(port: try programs[index].awaitPort()))
        try Self.awaitReady(sites[index])
    }

    /// Starts one more replica, without data, which does not become ready.
    ///
    /// - Returns: The port at which it says so.
    func addUnready() throws -> UInt16 {
        let port = try EtcdProcesses.freePort()
        programs.append(try Program(arguments(programs.count, port: port)))
        sites.append(Site(port: port))
        return port
    }

    /// Puts an entry without changes into the log, as a replica that is not there.
    ///
    /// - Parameters:
    ///   - writer: Its incarnation; below 128.
    ///   - sequence: The number of the entry, below 128.
    ///   - asksForMark: Whether all must compare their states after it.
    ///   - mark: A place, and the writer's hash at this place.
    /// - Throws: If etcd does not take it.
    func insertEntry(
        writer: UInt8,
        sequence: UInt8,
        asksForMark: Bool = false,
        mark: (place: UInt64, hash: UInt8) = (0, 0)
    ) throws {
        // A cluster that this version begins has the second rules from its start.
        var entry: [UInt8] = [2, writer] + [UInt8](repeating: 0, count: 7)
        entry += [sequence, 0, asksForMark ? 1 : 0]
        var rest = mark.place
        while rest > 127 {
            entry.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        entry += [UInt8(rest), 0, mark.hash] + [UInt8](repeating: 0, count: 7) + [0]
        try insert(entry)
    }

    /// Puts bytes into the log.
    func insert(_ entry: [UInt8]) throws {
        let key = Data("/latchkey/logs/test".utf8).base64EncodedString()
        let value = Data(entry).base64EncodedString()
        try etcd.ask(0, "/v3/kv/put", "{\"key\":\"\(key)\",\"value\":\"\(value)\"}")
    }

    /// The result of a start that is expected to fail.
    func refused(_ index: Int, _ more: [String]) throws -> (status: Int32, errors: String) {
        let result = try Program(arguments(index, port: 0) + more).finish()
        return (result.status, result.errors)
    }

    /// Removes the data of a replica on its disk.
    func removeData(_ index: Int) throws {
        try FileManager.default.removeItem(atPath: data(index))
    }

    /// Puts a copy of a replica's data aside, or back in its place.
    func copyData(_ index: Int, back: Bool = false) throws {
        let (data, copy) = (data(index), "\(folder.path)/copy-\(index)")
        if back { try FileManager.default.removeItem(atPath: data) }
        try FileManager.default.copyItem(atPath: back ? copy : data, toPath: back ? data : copy)
    }

    /// The state, with all that a replica keeps of each property.
    static func state(_ site: Site) throws -> String {
        try site.ask("GET", "/v1/export?replica=true").text
    }

    /// Waits until all replicas have the same state, and returns it.
    @discardableResult
    func awaitSame() throws -> String {
        var last = ""
        try eventually("all replicas have the same state") {
            let states = try sites.map(Self.state)
            last = states[0]
            return Set(states).count == 1
        }
        return last
    }

    /// Ends all replicas; whether all have ended well.
    func endAll() -> Bool {
        programs.map { $0.end() }.allSatisfy { $0 == 0 }
    }
}

extension HTTPAnswer {
    /// The revision of the property, by its tag.
    var revision: UInt64? { headers["etag"].flatMap { UInt64($0.filter(\.isNumber)) } }
}
