internal import CLatchkeyHTTP

/// Counts the bytes of the bodies of all unsent answers against one limit, and those of one client
/// against its share.
///
/// A body is charged when its answer is made, and given back when the library has freed it, however
/// the answer ended. Bodies of at most ``ResponseBody/copiedBytesMax`` bytes are in the memory of
/// their connections, and cost nothing.
///
/// SAFETY: `@safe` because the account stays inside. `@unchecked Sendable` because the C functions
/// may be called on any thread. The account is never freed: answers and streams can outlive the
/// object. A service has one.
@safe
@usableFromInline
package final class AnswerBudget: @unchecked Sendable {
    package let byteCountMax: Int
    package let clientByteCountMax: Int
    let account: OpaquePointer

    /// - Parameters:
    ///   - byteCountMax: The limit.
    ///   - clientByteCountMax: The limit for the answers to one client; nil for all of it.
    package init(byteCountMax: Int, clientByteCountMax: Int? = nil) {
        self.byteCountMax = byteCountMax
        self.clientByteCountMax = clientByteCountMax ?? byteCountMax
        let account = unsafe latchkey_http_account_create(byteCountMax, self.clientByteCountMax)
        guard let account = unsafe account else {
            preconditionFailure("There is memory for an account.")
        }
        unsafe self.account = account
    }

    /// How many bytes are charged.
    package var byteCount: Int { unsafe latchkey_http_account_bytes(account) }

    /// The result of a charge.
    package enum Charge: Sendable {
        case charged
        /// The answers to all clients are at the limit.
        case full
        /// Those to this client are at its share.
        case shareTaken

        init(_ charge: latchkey_http_charge) {
            switch charge {
            case LATCHKEY_HTTP_CHARGED: self = .charged
            case LATCHKEY_HTTP_CHARGE_SHARE: self = .shareTaken
            default: self = .full
            }
        }
    }

    /// The part of one client.
    package func part(of client: ClientKey) -> ClientBudget {
        ClientBudget(budget: self, client: client)
    }
}

/// A budget, and the client whose answers are charged to it: bytes charged to one client are given
/// back to the same client.
@usableFromInline
package struct ClientBudget: Sendable {
    let budget: AnswerBudget
    let client: ClientKey

    var account: OpaquePointer { unsafe budget.account }
    var number: UInt32 { client.number }

    /// Charges the bytes of an answer; charges nothing if it is refused.
    package func charge(_ byteCount: Int) -> AnswerBudget.Charge {
        let charge = unsafe latchkey_http_account_charge_client(account, number, byteCount)
        return AnswerBudget.Charge(charge)
    }

    /// Charges the bytes of an answer, also beyond the limits.
    package func add(_ byteCount: Int) {
        unsafe latchkey_http_account_add_client(account, number, byteCount)
    }

    /// Gives charged bytes back.
    func giveBack(_ byteCount: Int) {
        unsafe latchkey_http_account_give_back_client(account, number, byteCount)
    }

    /// The result that a charge of one byte would have.
    package func ask() -> AnswerBudget.Charge {
        AnswerBudget.Charge(unsafe latchkey_http_account_ask(account, number))
    }
}

extension ClientKey {
    /// Differs from run to run, so that no client can choose an address with another one's number.
    var number: UInt32 { UInt32(truncatingIfNeeded: hashValue) }
}

/// Bytes that any number of streams send without a copy of their own.
///
/// They are charged once, until all streams have sent them and this object is gone.
///
/// SAFETY: `@safe` because the block stays inside, and is valid until deinit. `@unchecked Sendable`
/// because it never changes.
@safe
package final class StreamPiece: @unchecked Sendable {
    package let count: Int
    /// Nil without memory.
    let block: OpaquePointer?

    package init(_ bytes: [UInt8], _ budget: AnswerBudget) {
        count = bytes.count
        unsafe block = bytes.withUnsafeBytes {
            unsafe latchkey_http_block_create($0.baseAddress, $0.count, budget.account)
        }
    }

    deinit {
        if let block = unsafe block {
            unsafe latchkey_http_block_release(block)
        }
    }

    /// A copy of the bytes.
    package var bytes: [UInt8] {
        guard let block = unsafe block else {
            return []
        }
        var count = 0
        let start = unsafe latchkey_http_block_bytes(block, &count)
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }
}
