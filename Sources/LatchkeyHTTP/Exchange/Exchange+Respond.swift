public import CLatchkeyHTTP

/// **Design.** The C side owns an answer as soon as it is given. The object that owns a body is
/// retained for it, and released by a C callback on whatever thread the answer was sent, or thrown
/// away.
extension Exchange {
    /// Answers the request.
    ///
    /// Do not use the exchange afterwards, on any thread. To answer twice is a programmer error,
    /// which stops the process as long as it can be seen: until the connection has got its next
    /// request.
    ///
    /// `Date`, `Content-Length` and `Connection` are added. A body is not sent for HEAD, 204 and
    /// 304; its length is, but for 204 (RFC 9110, 8.6).
    ///
    /// - Parameters:
    ///   - status: from 200 to 599.
    ///   - body: taken over.
    ///   - closes: whether the connection is closed afterwards.
    ///   - fields: adds the header fields. If one of them is not valid, the answer becomes a 500.
    @inlinable
    package func respond(
        _ status: HTTPStatus,
        body: consuming ResponseBody = .none,
        closes: Bool = false,
        fields: (inout ResponseFields) -> Void = { _ in }
    ) {
        let response = unsafe Exchange.makeResponse(body)
        if let made = unsafe response {
            var collected = unsafe ResponseFields(made)
            fields(&collected)
            if !collected.areValid {
                unsafe latchkey_http_response_discard(made)
                unsafe latchkey_http_respond(request, 500, nil, closes)
                return
            }
        }
        unsafe latchkey_http_respond(request, UInt32(status.rawValue), response, closes)
    }

    @usableFromInline
    static func makeResponse(_ body: consuming ResponseBody) -> OpaquePointer? {
        switch body {
        case .none:
            return unsafe latchkey_http_response_create(nil, 0, nil, nil)
        case .text(let text):
            return unsafe latchkey_http_response_create(
                text.utf8Start,
                text.utf8CodeUnitCount,
                nil,
                nil
            )
        case .bytes(let bytes):
            return unsafe bytes.withUnsafeBytes { memory in
                unsafe latchkey_http_response_create_copy(memory.baseAddress, memory.count)
            }
        case .owned(let memory, _) where memory.count <= ResponseBody.copiedBytesMax:
            return unsafe latchkey_http_response_create_copy(memory.baseAddress, memory.count)
        case .owned(let memory, let owner):
            return unsafe latchkey_http_response_create(
                memory.baseAddress,
                memory.count,
                { unsafe Unmanaged<AnyObject>.fromOpaque($0.unsafelyUnwrapped).release() },
                Unmanaged.passRetained(owner).toOpaque()
            )
        }
    }
}

/// The header fields of an answer, while it is put together.
///
/// SAFETY: `@safe` because it exists only during the call of `respond` that made it, while the
/// answer does; it is not copyable, so that it stays there.
@safe
@usableFromInline
package struct ResponseFields: ~Copyable {
    @usableFromInline let response: OpaquePointer
    @usableFromInline var areValid = true
    @usableFromInline var recorded: [ResponseField]?

    @inlinable
    init(_ response: OpaquePointer) {
        unsafe self.response = response
    }

    /// Adds fields, and returns copies of them; nil if one of them is not valid.
    package mutating func record(_ add: (inout ResponseFields) -> Void) -> [ResponseField]? {
        recorded = []
        add(&self)
        defer { recorded = nil }
        return areValid ? recorded : nil
    }

    @inlinable
    package mutating func add(_ name: StaticString, _ value: StaticString) {
        unsafe addTerminated(name, UnsafeRawPointer(value.utf8Start))
    }

    /// Adds a field whose value must have no line feed, carriage return or NUL.
    ///
    /// Disfavoured, because a literal would be a `String` otherwise, which costs more.
    @_disfavoredOverload
    package mutating func add(_ name: StaticString, _ value: String) {
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

    /// Adds a field with a number in quotes, which is what a strong entity tag is.
    package mutating func add(_ name: StaticString, quoted value: UInt64) {
        addNumber(name, value, isQuoted: true)
    }

    /// Writes the digits from the end of a buffer that is long enough for the largest number, two
    /// quotes and a NUL.
    @usableFromInline
    mutating func addNumber(_ name: StaticString, _ value: UInt64, isQuoted: Bool) {
        var text = InlineArray<24, UInt8>(repeating: 0)
        var index = 23
        if isQuoted {
            index -= 1
            text[index] = 0x22
        }
        var rest = value
        repeat {
            index -= 1
            text[index] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        if isQuoted {
            index -= 1
            text[index] = 0x22
        }
        unsafe text.span.withUnsafeBytes { memory in
            // The span is not empty.
            unsafe addTerminated(name, memory.baseAddress.unsafelyUnwrapped + index)
        }
    }

    @usableFromInline
    mutating func addTerminated(_ name: StaticString, _ value: UnsafeRawPointer) {
        let added = unsafe latchkey_http_response_add(
            response,
            UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self),
            value.assumingMemoryBound(to: CChar.self)
        )
        areValid = areValid && added
        if recorded != nil {
            let text = unsafe String(cString: value.assumingMemoryBound(to: CChar.self))
            recorded?.append(ResponseField(name: name, value: text))
        }
    }
}

/// A header field of an answer.
@usableFromInline
package struct ResponseField: Sendable {
    package let name: StaticString
    package let value: String

    package init(name: StaticString, value: String) {
        self.name = name
        self.value = value
    }
}
