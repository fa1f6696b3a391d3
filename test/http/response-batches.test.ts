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

describe('the responses of a turn', () => {
  test('the first is sent at once, and the others in order at the end of the turn', () => {
    const { sent, add, endTurn } = setUp();
    add('first');
    expect(sent).toEqual(['first']);
    add('second');
    add('third');
    expect(sent).toEqual(['first']);
    endTurn();
    expect(sent).toEqual(['first', 'second', 'third']);
    add('fourth');
    expect(sent).toEqual(['first', 'second', 'third', 'fourth']);
  });

  test('are sent even if one of them fails', () => {
    const { sent, add, addBroken, endTurn } = setUp();
    add('first');
    addBroken('second');
    add('third');
    endTurn();
    expect(sent).toEqual(['first', 'second failed', 'third']);
  });
});
