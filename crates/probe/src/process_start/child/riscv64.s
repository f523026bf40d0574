// SPDX-License-Identifier: MIT OR Apache-2.0
    addi sp, sp, -16
// clock_gettime
    li a7, 113
    li a0, 1
    mv a1, sp
    ecall
// write
    li a7, 64
    li a0, 1
    mv a1, sp
    li a2, 16
    ecall
// exit_group
    li a7, 94
    li a0, 0
    ecall
