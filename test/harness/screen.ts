import { spawnSync } from 'node:child_process';
import { expect } from 'vitest';
import { cleanEnvironment } from './service.ts';

/** A program in a terminal of a given size. */
export interface Screen {
  /** Types text and presses named keys, such as `Enter`, `Tab` or `C-c`. */
  type(...keys: string[]): void;
  /** Returns the text on the screen, without trailing blanks and empty lines. */
  read(): string;
  /** Waits until the text on the screen matches `pattern`, and returns the text. */
  waitFor(pattern: RegExp): Promise<string>;
  close(): void;
}

/** Runs `command` in `folder`, in a new terminal (tmux) of `columns` by `rows`. */
export function openScreen(
  folder: string,
  columns: number,
  rows: number,
  variables: Record<string, string>,
  command: string,
): Screen {
  const socket = `${folder}/tmux`;
  const environment = { ...cleanEnvironment(variables), LC_ALL: 'C.UTF-8', TMUX: '' };
  const tmux = (...parameters: string[]): string => {
    const { status, stdout, stderr } = spawnSync(
      'tmux',
      ['-S', socket, '-f', '/dev/null', ...parameters],
      { encoding: 'utf8', env: environment },
    );
    if (status !== 0) throw new Error(`tmux ${parameters[0]}: ${stderr}`);
    return stdout;
  };
  tmux('new-session', '-d', '-x', String(columns), '-y', String(rows), '-c', folder, command);
  const read = () => tmux('capture-pane', '-p').replaceAll(/ +$/gm, '').trimEnd();
  return {
    read,
    type: (...keys) => void tmux('send-keys', ...keys),
    async waitFor(pattern) {
      await expect.poll(read).toMatch(pattern);
      return read();
    },
    close: () => void tmux('kill-server'),
  };
}
