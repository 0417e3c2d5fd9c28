// Light, dark or as the system has it. A classic script in the head, so that the first paint has the right colours.
'use strict';
{
  const kinds = ['auto', 'light', 'dark'];
  const system = matchMedia('(prefers-color-scheme: dark)');
  // Storage can be switched off: the choice then lasts as long as the page.
  let choice = 'auto';
  try {
    choice = localStorage.getItem('hone-theme') ?? 'auto';
  } catch {
  }
  if (!kinds.includes(choice)) choice = 'auto';

  const apply = () => {
    document.documentElement.dataset.theme = choice === 'auto' ? (system.matches ? 'dark' : 'light') : choice;
    const button = document.getElementById('theme');
    if (button) {
      button.textContent = `theme: ${choice}`;
      button.setAttribute('aria-label', `Colour theme: ${choice}. Change it.`);
    }
  };
  apply();
  system.addEventListener('change', apply);
  document.addEventListener('DOMContentLoaded', () => {
    apply();
    document.getElementById('theme').addEventListener('click', () => {
      choice = kinds[(kinds.indexOf(choice) + 1) % kinds.length];
      try {
        localStorage.setItem('hone-theme', choice);
      } catch {
      }
      apply();
    });
  });
}
