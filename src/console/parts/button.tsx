import type { ButtonHTMLAttributes } from 'preact';

interface ButtonProps extends Omit<ButtonHTMLAttributes, 'class' | 'type'> {
  readonly look?: 'primary' | 'quiet' | 'text' | undefined;
}

/** A button that sends no form. */
export function Button({ look, ...props }: ButtonProps) {
  return (
    <button type="button" class={look === undefined ? 'button' : `button ${look}`} {...props} />
  );
}
