import { mount } from 'svelte';
import App from './App.svelte';
import './tokens.css';
import './base.css';
import { mendLanguage } from './lib/language';
import { theme } from './lib/theme.svelte';

mendLanguage(); // before the later pages are fetched
theme.start(); // before the first paint
mount(App, { target: document.getElementById('app')! });
