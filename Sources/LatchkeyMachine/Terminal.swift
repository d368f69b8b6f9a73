internal import CLatchkeyMachine

package enum Terminal {
    /// The columns of the terminal behind the descriptor; 0 if it is none or does not know.
    package static func columns(_ descriptor: Int32) -> Int {
        Int(latchkey_machine_terminal_columns(descriptor))
    }
}
