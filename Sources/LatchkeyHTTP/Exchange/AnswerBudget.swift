internal import CLatchkeyHTTP

/// What the bodies of all unsent answers hold, against one bound.
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
    let account: OpaquePointer

    package init(byteCountMax: Int) {
        self.byteCountMax = byteCountMax
        guard let account = unsafe latchkey_http_account_create(byteCountMax) else {
            preconditionFailure("There is memory for an account.")
        }
        unsafe self.account = account
    }

    /// How many bytes are charged.
    package var byteCount: Int { unsafe latchkey_http_account_bytes(account) }

    package var isFull: Bool { byteCount >= byteCountMax }

    /// Charges so many bytes, unless that would go beyond the bound.
    package func charge(_ byteCount: Int) -> Bool {
        unsafe latchkey_http_account_charge(account, byteCount)
    }

    /// Charges so many bytes, also beyond the bound.
    package func add(_ byteCount: Int) {
        unsafe latchkey_http_account_add(account, byteCount)
    }

    /// Gives charged bytes back.
    package func giveBack(_ byteCount: Int) {
        unsafe latchkey_http_account_give_back(account, byteCount)
    }
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
