import { describe, expect, test } from 'vitest';
import { createResponseBatches } from '../../src/http/connection/response-batches.ts';

/** Returns batches with a clock and turns that the test controls, and what they have sent. */
function setUp() {
  let time = 0;
  const ends: (() => void)[] = [];
  const sent: string[] = [];
  const batch = createResponseBatches({ now: () => time, later: (work) => ends.push(work) });
  return {
    sent,
    batch,
    add: (name: string) =>
      batch(
        () => void sent.push(name),
        ({ message }) => sent.push(message),
      ),
    addBroken: (name: string) =>
      batch(
        () => {
          throw new Error(`${name} failed`);
        },
        ({ message }) => sent.push(message),
      ),
    advance(milliseconds: number) {
      time += milliseconds;
    },
    endTurn() {
      for (const end of ends.splice(0)) end();
    },
  };
}

describe('a batch of responses', () => {
  test('is sent in order at the end of the turn', () => {
    const { sent, add, endTurn } = setUp();
    add('first');
    add('second');
    expect(sent).toEqual([]);
    endTurn();
    expect(sent).toEqual(['first', 'second']);
    add('third');
    endTurn();
    expect(sent).toEqual(['first', 'second', 'third']);
  });

  test('is sent at once if its first response has waited for 1 ms', () => {
    const { sent, add, advance, endTurn } = setUp();
    add('first');
    advance(0.9);
    add('second');
    expect(sent).toEqual([]);
    advance(0.1);
    add('third');
    expect(sent).toEqual(['first', 'second', 'third']);
    add('fourth');
    expect(sent).toEqual(['first', 'second', 'third']);
    endTurn();
    expect(sent).toEqual(['first', 'second', 'third', 'fourth']);
  });

  test('is sent even if one of its responses fails', () => {
    const { sent, add, addBroken, endTurn } = setUp();
    add('first');
    addBroken('second');
    add('third');
    endTurn();
    expect(sent).toEqual(['first', 'second failed', 'third']);
  });

  test('may add a response to the next batch while it is sent', () => {
    const { sent, batch, add, endTurn } = setUp();
    batch(
      () => add('second'),
      () => undefined,
    );
    endTurn();
    expect(sent).toEqual([]);
    endTurn();
    expect(sent).toEqual(['second']);
  });
});
