import { mount } from 'svelte';
import App from './App.svelte';
import './tokens.css';
import './base.css';
import { fleet } from './lib/fleet.svelte';
import { mendLanguage } from './lib/language';
import { session } from './lib/session.svelte';
import { theme } from './lib/theme.svelte';
import { styled } from './styled';

mendLanguage(); // before the later pages are run
theme.start(); // before the style is there
// What comes over the network sets out at once: the style may still be on its way.
fleet.start(() => void session.check());
session.start();

void styled(document).then(() => {
  fleet.first(document);
  const at = document.getElementById('app')!;
  at.replaceChildren(); // what showed meanwhile
  mount(App, { target: at });
});
