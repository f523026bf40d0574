// SPDX-License-Identifier: MIT OR Apache-2.0
    sub rsp, 16
// clock_gettime
    mov eax, 228
    mov edi, 1
    mov rsi, rsp
    syscall
// write
    mov eax, 1
    mov edi, 1
    mov rsi, rsp
    mov edx, 16
    syscall
// exit_group
    mov eax, 231
    xor edi, edi
    syscall
