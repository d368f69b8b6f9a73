internal import CLatchkeyRPC

/// A connection to one server of gRPC, and the calls on it.
///
/// Calls run concurrently. All callbacks come on the channel's own thread, which they must not
/// block; none comes after `ended`.
///
/// **Design.** The channel of C has the thread and the lock, and copies what it is given. The
/// `Callbacks` of a call are retained for C until the call has ended, and those of the channel
/// until `ended`.
///
/// SAFETY: `@unchecked Sendable` because any thread may use the channel of C, which is given up
/// once, at the end.
@safe
final class RPCChannel: @unchecked Sendable {
    /// How a call has ended: gRPC's number of a status, and a text.
    struct Status: Equatable, Sendable {
        let code: Int
        let reason: String

        var isSuccess: Bool { code == Int(LATCHKEY_RPC_OK) }
        /// Whether there was no answer in time.
        var isLate: Bool { code == Int(LATCHKEY_RPC_DEADLINE_EXCEEDED) }
    }

    /// The callbacks for C.
    private final class Callbacks: Sendable {
        let take: @Sendable ([UInt8]) -> Void
        let end: @Sendable (Status) -> Void

        init(
            take: @escaping @Sendable ([UInt8]) -> Void,
            end: @escaping @Sendable (Status) -> Void
        ) {
            self.take = take
            self.end = end
        }
    }

    private static let connectMilliseconds: UInt32 = 1000
    private static let silenceMilliseconds: UInt32 = 2000
    /// etcd sends a watch's answer in parts of about the longest request that it takes: 1.5 MiB by
    /// default (`--max-request-bytes`).
    ///
    /// Held messages of this length still fit the window.
    private static let messageByteCountMax = 12 << 20
    /// How much a server sends of a held call ahead of consumption.
    static let windowByteCount = Int(LATCHKEY_RPC_WINDOW_BYTES)
    /// Consumption is reported in steps of at least this many bytes.
    static let consumedByteCount = 1 << 20

    private let channel: OpaquePointer

    /// Begins to connect; nil if the system has no thread or memory.
    init?(_ server: EtcdServer, _ trust: EtcdTrust, ended: @escaping @Sendable (String) -> Void) {
        let callbacks = Callbacks(take: { _ in }, end: { ended($0.reason) })
        let context = unsafe Unmanaged.passRetained(callbacks)
        var options = unsafe latchkey_rpc_options()
        unsafe options.port = server.port
        unsafe options.is_encrypted = server.isEncrypted
        unsafe options.connect_milliseconds = Self.connectMilliseconds
        unsafe options.silence_milliseconds = Self.silenceMilliseconds
        unsafe options.message_bytes_max = Self.messageByteCountMax
        unsafe options.context = context.toOpaque()
        unsafe options.ended = { context, reason in
            let status = unsafe Status(code: 0, reason: RPCChannel.text(reason))
            unsafe RPCChannel.callbacks(context).takeRetainedValue().end(status)
        }
        let channel = unsafe server.host.withCString { host in
            unsafe options.host = host
            return unsafe Self.withText(trust.authorities) { authorities in
                unsafe options.authorities = authorities
                return unsafe Self.withText(trust.certificate) { certificate in
                    unsafe options.certificate = certificate
                    return unsafe Self.withText(trust.key) { key in
                        unsafe options.key = key
                        return unsafe latchkey_rpc_open(&options)
                    }
                }
            }
        }
        guard let channel = unsafe channel else {
            unsafe context.release()
            return nil
        }
        unsafe self.channel = channel
    }

    deinit {
        unsafe latchkey_rpc_close(channel)
    }

    /// Sends a call.
    ///
    /// - Parameters:
    ///   - path: The method, as `/package.Service/Method`.
    ///   - message: The request.
    ///   - needsLeader: Whether the server ends the call when it has no leader.
    ///   - isHeld: Whether the server sends no more than a window ahead of
    ///     ``consume(_:_:)``.
    ///   - timeout: The time after which it ends; nil for none.
    ///   - take: Given each message of the answer.
    ///   - end: Called once, at last.
    /// - Returns: A number to cancel it with; nil, and nothing is called, if the channel has ended.
    @discardableResult
    func call(
        _ path: String,
        _ message: [UInt8],
        needsLeader: Bool = false,
        isHeld: Bool = false,
        timeout: Duration? = nil,
        take: @escaping @Sendable ([UInt8]) -> Void,
        end: @escaping @Sendable (Status) -> Void
    ) -> UInt64? {
        let context = unsafe Unmanaged.passRetained(Callbacks(take: take, end: end))
        var request = unsafe latchkey_rpc_request()
        unsafe request.needs_leader = needsLeader
        unsafe request.is_held = isHeld
        unsafe request.timeout_milliseconds = timeout.map { UInt32($0 / .milliseconds(1)) } ?? 0
        unsafe request.context = context.toOpaque()
        unsafe request.take = { context, bytes, count in
            let message = unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: count))
            unsafe RPCChannel.callbacks(context).takeUnretainedValue().take(message)
        }
        unsafe request.end = { context, code, reason in
            let status = unsafe Status(code: Int(code), reason: RPCChannel.text(reason))
            unsafe RPCChannel.callbacks(context).takeRetainedValue().end(status)
        }
        let number = unsafe path.withCString { path in
            unsafe message.withUnsafeBufferPointer { bytes in
                unsafe request.path = path
                unsafe request.message = bytes.baseAddress
                unsafe request.message_count = bytes.count
                return unsafe latchkey_rpc_call(channel, &request)
            }
        }
        guard number != 0 else {
            unsafe context.release()
            return nil
        }
        return number
    }

    /// The bytes that a message takes in the window of a held call.
    static func windowByteCount(_ message: [UInt8]) -> Int {
        message.count + Int(LATCHKEY_RPC_PREFIX_BYTES)
    }

    /// Lets the server send this many more bytes of a held call.
    func consume(_ number: UInt64, _ byteCount: Int) {
        unsafe latchkey_rpc_consume(channel, number, byteCount)
    }

    /// Ends a call as cancelled, unless it has ended.
    func cancel(_ number: UInt64) {
        unsafe latchkey_rpc_cancel(channel, number)
    }

    private static func callbacks(_ context: UnsafeMutableRawPointer?) -> Unmanaged<Callbacks> {
        unsafe Unmanaged.fromOpaque(context.unsafelyUnwrapped)
    }

    private static func text(_ text: UnsafePointer<CChar>?) -> String {
        unsafe text.map { unsafe String(cString: $0) } ?? ""
    }

    private static func withText<Result>(
        _ text: String?,
        _ body: (UnsafePointer<CChar>?) -> Result
    ) -> Result {
        guard let text else { return body(nil) }
        return unsafe text.withCString { unsafe body($0) }
    }
}
