public import CLatchkeyHTTP
internal import CLatchkeySystem

/// **Design.** The C side owns an answer as soon as it is given. The object that owns a body is
/// retained for it, and released by a C callback on whatever thread the answer was sent, or
/// discarded.
extension Exchange {
    /// Answers the request.
    ///
    /// Do not use the exchange afterwards, on any thread. To answer twice is a programmer error. It
    /// stops the process if it is noticed: until the connection has got its next request.
    ///
    /// `Date`, `Content-Length`, `Connection` and `Latchkey-Request-Id` are added. A body is not
    /// sent for HEAD, 204 and 304; its length is, but for 204 (RFC 9110, 8.6). So give it the body
    /// that a GET or a 200 would send.
    ///
    /// - Parameters:
    ///   - status: from 200 to 599.
    ///   - body: taken over.
    ///   - budget: was charged with the body's length, which it gets back; nil for a body that is
    ///     not charged.
    ///   - closes: whether the connection is closed afterwards.
    ///   - fields: adds the header fields. If one of them is not valid, the answer becomes a 500.
    @inlinable
    package func respond(
        _ status: HTTPStatus,
        body: consuming ResponseBody = .none,
        budget: ClientBudget? = nil,
        closes: Bool = false,
        fields: (inout ResponseFields) -> Void = { _ in }
    ) {
        var collected = unsafe ResponseFields(request, begin(body, budget))
        guard collected.areValid else {
            unsafe latchkey_http_respond(request, 500, nil, closes)
            return
        }
        fields(&collected)
        collected.addSharing()
        collected.respond(status, closes: closes)
    }

    /// Begins an answer with this body: a short body goes into the memory of its connection.
    @usableFromInline
    func begin(_ body: consuming ResponseBody, _ budget: ClientBudget?) -> ResponseStart {
        switch body {
        case .none:
            return unsafe beginShort(nil, 0)
        case .text(let text) where text.utf8CodeUnitCount <= Self.shortBytesMax:
            return unsafe beginShort(text.utf8Start, text.utf8CodeUnitCount)
        case .bytes(let bytes) where bytes.count <= Self.shortBytesMax:
            return unsafe bytes.withUnsafeBytes { unsafe beginShort($0.baseAddress, $0.count) }
        case .owned(let memory, _) where memory.count <= ResponseBody.copiedBytesMax:
            return unsafe beginShort(memory.baseAddress, memory.count)
        case .text(let text):
            budget?.giveBack(text.utf8CodeUnitCount)
            return unsafe ResponseStart(
                latchkey_http_response_create(text.utf8Start, text.utf8CodeUnitCount, nil, nil)
            )
        case .bytes(let bytes):
            return unsafe bytes.withUnsafeBytes { memory in
                unsafe ResponseStart(
                    latchkey_http_response_create_charged(
                        memory.baseAddress,
                        memory.count,
                        budget?.account,
                        budget?.number ?? 0
                    )
                )
            }
        case .owned(let memory, let owner):
            var part = unsafe latchkey_http_bytes(memory)
            return unsafe begin(&part, 1, memory.count, owner, budget)
        case .parts(let parts, let owner, let heldByteCount):
            let list = unsafe parts.map { unsafe latchkey_http_bytes($0) }
            return unsafe begin(list, parts.count, heldByteCount, owner, budget)
        }
    }

    /// Begins an answer with this body in parts, which the owner keeps.
    private func begin(
        _ parts: UnsafePointer<latchkey_http_bytes>,
        _ partCount: Int,
        _ byteCount: Int,
        _ owner: AnyObject,
        _ budget: ClientBudget?
    ) -> ResponseStart {
        unsafe ResponseStart(
            latchkey_http_response_create_parts(
                parts,
                partCount,
                { unsafe Unmanaged<AnyObject>.fromOpaque($0.unsafelyUnwrapped).release() },
                Unmanaged.passRetained(owner).toOpaque(),
                budget?.account,
                budget?.number ?? 0,
                budget == nil ? 0 : byteCount
            )
        )
    }

    private static var shortBytesMax: Int { Int(LATCHKEY_HTTP_SHORT_BYTES_MAX) }

    private func beginShort(_ body: UnsafeRawPointer?, _ count: Int) -> ResponseStart {
        unsafe latchkey_http_short_begin(request, body, count) ? .short : .failed
    }
}

extension latchkey_http_bytes {
    fileprivate init(_ memory: UnsafeRawBufferPointer) {
        unsafe self.init(
            bytes: memory.baseAddress?.assumingMemoryBound(to: CChar.self),
            count: memory.count
        )
    }
}

/// The answer to which header fields are added.
///
/// SAFETY: `@safe` because the pointer is only handed on to the C side.
@safe
@usableFromInline
enum ResponseStart {
    /// To the short answer of the request's connection.
    case short
    /// To this answer.
    case long(OpaquePointer)
    /// There was no memory for an answer.
    case failed

    init(_ response: OpaquePointer?) {
        self = if let response = unsafe response { unsafe .long(response) } else { .failed }
    }
}

/// The header fields of an answer, while it is put together.
///
/// SAFETY: `@safe` because it exists only during the call of `respond` that made it, while the
/// answer does; it is not copyable, so that it stays there.
@safe
@usableFromInline
package struct ResponseFields: ~Copyable {
    @usableFromInline let request: UnsafeMutablePointer<latchkey_http_request>
    /// Nil for the short answer of the connection.
    @usableFromInline let response: OpaquePointer?
    @usableFromInline var areValid = true

    @usableFromInline
    init(_ request: UnsafeMutablePointer<latchkey_http_request>, _ start: ResponseStart) {
        unsafe self.request = request
        switch start {
        case .short:
            unsafe response = nil
        case .long(let made):
            unsafe response = unsafe made
        case .failed:
            unsafe response = nil
            areValid = false
        }
    }

    /// Gives the answer; a 500 instead if a field is not valid.
    @usableFromInline
    func respond(_ status: HTTPStatus, closes: Bool) {
        let status = UInt32(status.rawValue)
        if areValid, unsafe response == nil {
            unsafe latchkey_http_short_respond(request, status, closes)
        } else if areValid {
            unsafe latchkey_http_respond(request, status, response, closes)
        } else {
            discard()
            unsafe latchkey_http_respond(request, 500, nil, closes)
        }
    }

    /// Discards the answer; another one must be given instead.
    @usableFromInline
    func discard() {
        if let response = unsafe response {
            unsafe latchkey_http_response_discard(response)
        }
    }

    @inlinable
    package mutating func add(_ name: StaticString, _ value: StaticString) {
        unsafe addTerminated(name, UnsafeRawPointer(value.utf8Start))
    }

    /// Adds a field whose value must have no line feed, carriage return or NUL.
    ///
    /// Named, because a literal would be a `String` otherwise, which costs more.
    package mutating func add(_ name: StaticString, text value: String) {
        if value.utf8.contains(0) {
            areValid = false
            return
        }
        unsafe value.withCString { unsafe addTerminated(name, UnsafeRawPointer($0)) }
    }

    /// Adds a field with a number.
    package mutating func add(_ name: StaticString, _ value: UInt64) {
        addNumber(name, value, isQuoted: false)
    }

    /// Adds a field with a number in quotes: a strong entity tag.
    package mutating func add(_ name: StaticString, quoted value: UInt64) {
        addNumber(name, value, isQuoted: true)
    }

    /// Adds a field with a number of thousandths, as "1.250".
    package mutating func add(_ name: StaticString, thousandths value: UInt64) {
        let byteCountMax = Int(LATCHKEY_SYSTEM_DECIMAL_BYTES_MAX) + 5
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: byteCountMax) { text in
            let start = unsafe text.baseAddress.unsafelyUnwrapped
            let end = unsafe latchkey_system_decimal(value / 1000, start)
            unsafe text[end] = 0x2E
            for (place, digit) in [value / 100, value / 10, value].enumerated() {
                unsafe text[end + 1 + place] = 0x30 + CChar(digit % 10)
            }
            unsafe text[end + 4] = 0
            unsafe addTerminated(name, UnsafeRawPointer(start))
        }
    }

    @usableFromInline
    mutating func addNumber(_ name: StaticString, _ value: UInt64, isQuoted: Bool) {
        let byteCountMax = Int(LATCHKEY_SYSTEM_DECIMAL_BYTES_MAX) + 3
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: byteCountMax) { text in
            let quote = CChar(0x22)
            var end = 0
            if isQuoted {
                unsafe text[0] = quote
                end = 1
            }
            unsafe end += latchkey_system_decimal(value, text.baseAddress.unsafelyUnwrapped + end)
            if isQuoted {
                unsafe text[end] = quote
                end += 1
            }
            unsafe text[end] = 0
            unsafe addTerminated(name, UnsafeRawPointer(text.baseAddress.unsafelyUnwrapped))
        }
    }

    @usableFromInline
    mutating func addTerminated(_ name: StaticString, _ value: UnsafeRawPointer) {
        let nameText = unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        let text = unsafe value.assumingMemoryBound(to: CChar.self)
        let added =
            if let response = unsafe response {
                unsafe latchkey_http_response_add(response, nameText, text)
            } else {
                unsafe latchkey_http_short_add(request, nameText, text)
            }
        areValid = areValid && added
    }
}
