import Foundation
import LatchkeyCommandLine
import LatchkeyTestSupport
import Testing

@testable import LatchkeyClient
@testable import latchkey

/// The last message about a write, and requests that are not sent again.
struct CallEndTests {
    typealias Step = ScriptedService.Step

    private static let login = Step.answers(200, "application/json", #"{"login":"please"}"#)
    private static let imported = Step.answers(200, "application/json", #"{"imported":0}"#)

    private static func failure(
        _ service: ScriptedService,
        _ request: ClientRequest,
        patience: Double = 10,
        isCancelled: () -> Bool = { false }
    ) -> ClientFailure? {
        do throws(ClientFailure) {
            let client = Client(service, patience: .seconds(patience))
            _ = try client.send(request, isCancelled: isCancelled)
            return nil
        } catch {
            return error
        }
    }

    private static func repeatable(_ request: ClientRequest) -> ClientRequest {
        var request = request
        request.makeRepeatable()
        return request
    }

    /// It would be empty, and the service would import nothing.
    @Test(arguments: [
        Step.answers(429), .answers(425), .answers(503), .problem(429, "rate-exceeded"),
        .problem(503, "draining"), .problem(500, "outcome-unknown"), .fails(.broken), .silent,
    ])
    func `a body that was read is not sent again`(step: Step) {
        var request = ClientRequest(.post, "/v1/import")
        request.send(.descriptor(0), type: "application/x-ndjson")
        let service = ScriptedService([step, Self.imported])
        #expect(Self.failure(service, request) != nil)
        #expect(service.requests.count == 1)
        let unconnected = ScriptedService([.fails(.unconnected), Self.imported])
        #expect(Self.failure(unconnected, request) == nil)
    }

    @Test(arguments: [
        ClientRequest(.post, "/v1/transactions"), ClientRequest(.post, "/v1/pop"),
        ClientRequest(.delete, "/v1/properties"), ClientRequest(.post, "/v1/promote"),
    ])
    func `the object of another server is no answer, and leaves the outcome unknown`(
        request: ClientRequest
    ) {
        #expect(Self.failure(ScriptedService([Self.login]), request)?.status == .failed)
        let service = ScriptedService([.answers(504), Self.login])
        #expect(Self.failure(service, Self.repeatable(request))?.status == .unknown)
    }

    @Test func `a key that the service does not know is not advised`() {
        var request = Self.repeatable(ClientRequest(.put, property: "a"))
        request.repeatAdvice = "The same with the key."
        let full = Step.problem(503, "too-many-idempotency-keys")
        let keyless = Self.failure(ScriptedService([full, .answers(504)]), request)
        #expect(keyless?.status == .unknown)
        #expect(keyless?.message.contains("key") == false)
        let keyed = Self.failure(ScriptedService([.answers(504)]), request)
        #expect(keyed?.message.contains("key") == true)
    }

    /// These are answered before the key is looked up.
    @Test(arguments: [(401, "unauthorized"), (403, "forbidden"), (421, "not-leader")])
    func `a repeat that is not allowed leaves the outcome unknown`(status: Int, problem: String) {
        let put = Self.repeatable(ClientRequest(.put, property: "a"))
        let refused = ScriptedService([.problem(status, problem)])
        #expect(Self.failure(refused, put)?.status != .unknown)
        let service = ScriptedService([.fails(.broken), .problem(status, problem)])
        #expect(Self.failure(service, put)?.status == .unknown)
    }

    @Test func `no attempt begins for which there is hardly time`() {
        let busy = Step.answers(
            503,
            "application/problem+json",
            #"{"type":"/problems/draining","title":"Busy."}"#,
            after: 0.2
        )
        let service = ScriptedService([busy], timeLimit: .seconds(10))
        let put = Self.repeatable(ClientRequest(.put, property: "a"))
        #expect(Self.failure(service, put, patience: 1)?.status == .refused)
        let least = Duration.milliseconds(250)
        #expect(service.requests.allSatisfy { $0.timeLimit ?? .zero >= least })
    }

    @Test func `a pop that is ended is in doubt only if it was sent`() {
        let pop = Self.repeatable(ClientRequest(.post, "/v1/pop"))
        let sent = ScriptedService([.fails(.cancelled)])
        #expect(Self.failure(sent, pop)?.status == .unknown)
        for step in [Step.fails(.unconnected), .problem(503, "draining")] {
            let service = ScriptedService([step])
            let failure = Self.failure(service, pop) { !service.requests.isEmpty }
            #expect(failure?.status == .failed && service.requests.count == 1)
        }
    }

    @Test func `the head of a stream comes in time`() throws {
        let lines = Step.answers(200, "application/x-ndjson", "{}")
        let service = ScriptedService([lines], timeLimit: .seconds(4))
        _ = try unsafe Client(service).stream(ClientRequest(.get, "/v1/export")) { _ in true }
        #expect(service.requests.map(\.headLimit) == [.seconds(4)])
        #expect(service.requests.map(\.timeLimit) == [nil])
    }

    @Test func `a service without a head is given up`() throws {
        let listener = try SilentListener()
        let connection = ServiceConnection(origin: listener.origin, timeLimit: .seconds(60))
        var request = ClientRequest(.get, "/v1/export")
        request.isStream = true
        request.headLimit = .milliseconds(100)
        let error = #expect(throws: ConnectionFailure.self) {
            try unsafe connection.stream(request) { _ in true }
        }
        #expect(error?.kind == .timedOut)
    }

    @Test func `a name that is not there is wrong, and one that cannot be asked for is not`() {
        var addresses: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo("nothing.invalid", nil, nil, &addresses)
        let connection = ServiceConnection(
            origin: "http://nothing.invalid:1",
            timeLimit: .seconds(60)
        )
        let error = #expect(throws: ConnectionFailure.self) { try connection.get("/") }
        #expect(error?.kind == (code == EAI_AGAIN ? .unconnected : .wrong))
    }

    /// Takes a job, and finds no room for its output.
    private struct FullDisk: ClientCommand {
        let name = "pop"
        let introduction = ""
        let ownFlags: [Flag] = []
        let operandCountMax = 0

        func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
            _ = try client.send(ClientRequest(.post, "/v1/pop"))
            throw ClientFailure(.failed, "there is no room.")
        }
    }

    @Test func `a write whose output fails is not one that changed nothing`() throws {
        let values = try FullDisk().values([]) { _ in nil }
        let popped = Step.answers(200, "application/json", #"{"result":{"name":"a"}}"#)
        for (step, status) in [(popped, ClientStatus.unknown), (Self.login, .failed)] {
            let error = #expect(throws: ClientFailure.self) {
                try FullDisk().finish(values, Client(ScriptedService([step])))
            }
            #expect(error?.status == status)
        }
    }
}

/// A service that accepts connections and says nothing.
private final class SilentListener {
    let origin: String
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(descriptor, address, length) == 0 && listen(descriptor, 4) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        try #require(isBound)
        origin = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    }

    deinit { close(descriptor) }
}
