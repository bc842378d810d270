; Stands for ../core/number.c, to the last bit: products of 16 and 32 bits, of which
; scale16 and scale8 drop the low bytes, in 50 cycles. The compiler takes twice that.
;
; product: r25:r24 and r23:r22 are unsigned. The others: r25:r24 is unsigned (the first
; argument), r23:r20 signed (the second). The result is in r25:r22. r18 to r27, r30, r31
; and r0 are ours, r1 has to be 0 again.

	.section .text.product, "ax", @progbits
	.global product
	.type product, @function
product:
	movw r18, r24       ; a
	movw r20, r22       ; b
	clr r26             ; 0, for carries
	mul r18, r20        ; a0*b0: bytes 0 and 1
	movw r22, r0
	mul r19, r21        ; a1*b1: bytes 2 and 3
	movw r24, r0
	mul r18, r21        ; a0*b1: bytes 1 and 2
	add r23, r0
	adc r24, r1
	adc r25, r26
	mul r19, r20        ; a1*b0: bytes 1 and 2
	add r23, r0
	adc r24, r1
	adc r25, r26
	clr r1
	ret
	.size product, . - product

	.section .text.scale16, "ax", @progbits
	.global scale16
	.type scale16, @function
scale16:
	movw r18, r24       ; u
	clr r26             ; 0, for carries
	mul r18, r20        ; u0*c0: bytes 0 and 1; byte 0 has nothing to carry
	mov r27, r1         ; byte 1
	mul r18, r22        ; u0*c2: bytes 2 and 3
	movw r30, r0
	mulsu r23, r19      ; c3*u1: bytes 4 and 5
	movw r24, r0
	mul r18, r21        ; u0*c1: bytes 1 and 2
	add r27, r0
	adc r30, r1
	adc r31, r26
	adc r24, r26
	adc r25, r26
	mul r19, r20        ; u1*c0: bytes 1 and 2
	add r27, r0
	adc r30, r1
	adc r31, r26
	adc r24, r26
	adc r25, r26
	mul r19, r21        ; u1*c1: bytes 2 and 3
	add r30, r0
	adc r31, r1
	adc r24, r26
	adc r25, r26
	mul r19, r22        ; u1*c2: bytes 3 and 4
	add r31, r0
	adc r24, r1
	adc r25, r26
	mulsu r23, r18      ; c3*u0: bytes 3 and 4, its sign in byte 5
	sbc r25, r26
	add r31, r0
	adc r24, r1
	adc r25, r26
	movw r22, r30
	clr r1
	ret
	.size scale16, . - scale16

	.section .text.scale8, "ax", @progbits
	.global scale8
	.type scale8, @function
scale8:
	movw r18, r24       ; t
	clr r26
	mul r18, r20        ; t0*c0: bytes 0 and 1
	mov r27, r1
	mul r18, r22        ; t0*c2: bytes 2 and 3
	movw r30, r0
	mul r19, r22        ; t1*c2: bytes 3 and 4, of which 4 is the last
	add r31, r0
	mov r24, r1
	adc r24, r26
	mul r18, r21        ; t0*c1: bytes 1 and 2
	add r27, r0
	adc r30, r1
	adc r31, r26
	adc r24, r26
	mul r19, r20        ; t1*c0: bytes 1 and 2
	add r27, r0
	adc r30, r1
	adc r31, r26
	adc r24, r26
	mul r19, r21        ; t1*c1: bytes 2 and 3
	add r30, r0
	adc r31, r1
	adc r24, r26
	mulsu r23, r18      ; c3*t0: bytes 3 and 4; its sign lies beyond them
	add r31, r0
	adc r24, r1
	mul r23, r19        ; c3*t1: byte 4
	add r24, r0
	mov r22, r27
	mov r23, r30
	mov r25, r24
	mov r24, r31
	clr r1
	ret
	.size scale8, . - scale8
