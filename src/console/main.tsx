import { render } from 'preact';
import { Button } from './parts/button.tsx';
import { Problem } from './parts/notices.tsx';
import { startRouter } from './router.ts';
import { door, readSession, session, startError, startSession, watchSession } from './session.ts';
import { startTheme } from './shell/preferences.ts';
import { Shell } from './shell/shell.tsx';
import { SignIn } from './sign-in/sign-in.tsx';

function Console() {
  if (session.value !== undefined) return <Shell />;
  if (door.value !== undefined) return <SignIn />;
  if (startError.value !== undefined)
    return (
      <main class="plain stack">
        <h1>Tsigil</h1>
        <Problem error={startError.value} />
        <div>
          <Button onClick={() => void readSession()}>Try again</Button>
        </div>
      </main>
    );
  return null;
}

function Unsupported() {
  return (
    <p class="plain">The console needs Chrome or Edge 125, Firefox 128, Safari 17.5, or newer.</p>
  );
}

const element = document.getElementById('console');
if (element !== null) {
  if (CSS.supports('color', 'light-dark(red, red)')) {
    startTheme();
    startRouter();
    watchSession();
    render(<Console />, element);
    void startSession();
  } else render(<Unsupported />, element);
}
