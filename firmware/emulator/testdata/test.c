/* A program for the bench's own tests: each letter from the host does one thing whose
 * outcome is known. Every letter is sent back once it is done. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <avr/wdt.h>
#include <stdbool.h>
#include <util/delay.h>

/* The last reset's cause, before the watchdog is disarmed. */
static uint8_t cause __attribute__((section(".noinit")));
void early(void) __attribute__((naked, used, section(".init3")));
void early(void)
{
	cause = MCUSR;
	MCUSR = 0;
	wdt_disable();
}

static volatile uint8_t ring[64], in, out;

ISR(USART_RX_vect)
{
	ring[in] = UDR0;
	in = (in + 1) & 63;
}

static void put(uint8_t b)
{
	while ((UCSR0A & _BV(UDRE0)) == 0)
		;
	UDR0 = b;
}

static void steps(uint8_t n)
{
	PORTB &= ~_BV(PB0); /* the driver's enable is low */
	for (; n != 0; n--) {
		PORTD |= _BV(PD2);
		_delay_us(2);
		PORTD &= ~_BV(PD2);
		_delay_us(998);
	}
}

static void report_inputs(void)
{
	put((PINC & _BV(PC5) ? 1 : 0) | (PINB & _BV(PB4) ? 2 : 0));
}

static void report_adc(void)
{
	ADMUX = _BV(REFS0);
	ADCSRA = _BV(ADEN) | _BV(ADSC) | 7;
	while (ADCSRA & _BV(ADSC))
		;
	uint16_t v = ADC;
	put((uint8_t)(v >> 8));
	put((uint8_t)v);
}

static void act(uint8_t letter)
{
	switch (letter) {
	case 'p': /* pulses of 1500 and 600 µs */
		cli();
		PORTB |= _BV(PB1);
		_delay_us(1500);
		PORTB &= ~_BV(PB1);
		PORTB |= _BV(PB2);
		_delay_us(600);
		PORTB &= ~_BV(PB2);
		sei();
		break;
	case 'h': /* begins a pulse and never ends it */
		PORTB |= _BV(PB1);
		break;
	case 's': /* 100 steps, one a ms */
		steps(100);
		break;
	case 't': /* steps that are too short for a driver */
		for (uint8_t n = 0; n < 3; n++) {
			PORTD |= _BV(PD2);
			PORTD &= ~_BV(PD2);
			_delay_us(100);
		}
		break;
	case 'f': PORTD |= _BV(PD5); _delay_us(1); break;
	case 'r': PORTD &= ~_BV(PD5); _delay_us(1); break;
	case 'e': PORTB |= _BV(PB0); break;
	case 'o': PORTB ^= _BV(PB5); break;
	case 'm': /* a quarter of full power on OC2A */
		OCR2A = 64;
		TCCR2A = _BV(COM2A1) | _BV(WGM21) | _BV(WGM20);
		TCCR2B = _BV(CS22);
		break;
	case 'i': report_inputs(); break;
	case 'a': report_adc(); break;
	case 'c': put(cause); break;
	case 'x': /* deaf for ten bytes' time */
		cli();
		_delay_us(870);
		sei();
		break;
	case 'n': /* a span of known length */
		cli();
		GPIOR0 = 1;
		__builtin_avr_delay_cycles(1000);
		GPIOR0 = 0x81;
		sei();
		break;
	case 'w': /* arms the watchdog and never feeds it */
		wdt_enable(WDTO_500MS);
		break;
	case 'q': /* streams: 100 bytes */
		for (uint8_t n = 0; n < 100; n++)
			put(n);
		break;
	}
	put(letter);
}

int main(void)
{
	PORTB = _BV(PB0) | _BV(PB4); /* before it is an output: no glitch at the enable */
	DDRB = _BV(PB0) | _BV(PB1) | _BV(PB2) | _BV(PB3) | _BV(PB5);
	PORTC = _BV(PC5);
	DDRD = _BV(PD2) | _BV(PD5);
	UBRR0 = 16; /* 115,200 baud, doubled: 2.1 % fast */
	UCSR0A = _BV(U2X0);
	UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
	sei();
	for (;;) {
		cli();
		if (in == out) {
			sleep_enable();
			sei();
			sleep_cpu();
			continue;
		}
		sei();
		uint8_t letter = ring[out];
		out = (out + 1) & 63;
		act(letter);
	}
}
